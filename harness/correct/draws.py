"""Judges of the samplers that select a token."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import (
    Interval,
    beside,
    is_exact,
    largest,
    normal_from,
    of_function,
    of_report,
    of_sum,
    unit,
)
from sampler_parity.harness.correct.filters import exact_sums
from sampler_parity.harness.correct.softmax import REPORTED, Softmax, softmax
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.adaptive_p import NO_TOKEN, PEAK, SHARPNESS

# The smallest and largest number of survivors that rounding explains, of candidates in an order.
CountKept = Callable[[Stage, Interval, NDArray[np.int64]], tuple[int, int]]


def greedy(stage: Stage) -> None:
    """Require one of the largest logits."""
    stage.same_ids()
    stage.same_logits()
    stage.same_p()
    if np.isnan(stage.before.logits).any() or len(stage.got.ids) == 0:
        stage.same_selected()
        return
    chosen = selected(stage)
    if stage.before.high[chosen] < stage.before.low.max():
        raise Wrong("selected", got=stage.got.token, expected=stage.want.token)


def selected(stage: Stage) -> int:
    """Return the place of the selected candidate. Raises Wrong if there is none."""
    if not 0 <= stage.got.selected < len(stage.got.ids):
        raise Wrong("selected", got=None, expected=stage.want.token)
    return stage.got.selected


def dist(stage: Stage) -> None:
    """Require p, and the token whose piece of the unit line has u: `drawn`."""
    stage.same_ids()
    stage.same_logits()
    if len(stage.before.ids) == 0 or not stage.softmax.defined:
        stage.as_reference()
        return
    stage.probabilities()
    arithmetic, before = stage.arithmetic, stage.before
    in_float64 = arithmetic.probabilities == arithmetic.sums == "float64"
    exactly = in_float64 and np.array_equal(before.low, before.high)
    drawn(stage, stage.sampler.rng.uniform_double(), stage.softmax if exactly else None)


def drawn(stage: Stage, u: float, of: Softmax | None = None) -> None:
    """Require the selected token's piece of the unit line to contain u.

    The pieces are those of the probabilities that the backend reports. Both ends may be off by the
    error of two sums of the stated order, by the rounding of u and of its product with the sum.
    If all sums are exact and u has no more digits than the format, they are off by nothing.
    of: probabilities that the report rounds from float64, where the backend's logits are known. The
    pieces are theirs, without the error of the report, and with that of two float64 sums of ours.
    """
    chosen = selected(stage)
    p = stage.got.p.astype(np.float64) if of is None else of.p
    ends = np.cumsum(p)
    total = float(ends[-1])
    if total <= 0 or not math.isfinite(total):
        stage.same_selected()
        return
    low, high = (float(ends[chosen - 1]) if chosen else 0.0), float(ends[chosen])
    at, error = u * total, 0.0
    if not (exact_sums(stage, p) and is_exact(at, stage.arithmetic.sums)):
        of_p = unit(stage.arithmetic.probabilities)
        error_of_p = stage.softmax.total if stage.softmax.defined else 0.0
        in_sums = 2 * of_sum(len(p), stage.arithmetic)
        error = total * (in_sums + 3 * of_p + min(error_of_p, 1.0)) + REPORTED
        if of is not None:
            error += 2 * len(p) * 2.0**-53 - REPORTED - total * of_report("float64")
    if p[chosen] <= 0 and u > 0 and float(stage.want.p[stage.want.selected]) > 0:
        raise Wrong("selected", got=stage.got.token, expected=stage.want.token, p=0.0)
    if not low - error <= at <= high + error:
        raise Wrong(
            "selected", got=stage.got.token, expected=stage.want.token, u=u, low=low, high=high
        )
    if at <= low or at > high:
        stage.cuts.append(Cut(1 if at <= low else -1))


def discrete(stage: Stage, rng: Mt19937) -> None:
    """Require a draw as std::discrete_distribution makes it: none from one candidate."""
    if len(stage.got.ids) < 2:
        selected(stage)
        return
    if np.isnan(stage.got.p).any():
        stage.same_selected()
        return
    drawn(stage, rng.clone().uniform_double())


def mirostat_v2(stage: Stage) -> None:
    """Judge a cut where the surprise -log2(p) exceeds mu, an interval, and a draw."""
    _cut_and_draw(stage, _kept_by_surprise)


def mirostat(stage: Stage) -> None:
    """Judge k, from the slope of log p over log rank and from mu, both intervals, and a draw."""
    _cut_and_draw(stage, _kept_by_slope)


def _cut_and_draw(stage: Stage, count_kept: CountKept) -> None:
    """Judge how many survive, their p, the draw, and move mu."""
    mu = stage.memory.get("mu", stage.interval(2.0) * stage.parameter("tau"))
    if not stage.softmax.defined:
        stage.as_reference()
        stage.memory["mu"] = Interval(np.nan, np.nan, mu.u)
        return
    _keeps(stage, [count_kept(stage, mu, order) for order in orders(stage)])
    _draw_and_steer(stage, mu)


def orders(stage: Stage) -> list[NDArray[np.int64]]:
    """Return the candidates in descending order; and as they are, where llama.cpp takes them for
    sorted."""
    by_size = np.lexsort((-stage.before.logits, -stage.softmax.p))
    return [by_size, np.arange(len(by_size))] if stage.before.sorted else [by_size]


def _kept_by_surprise(stage: Stage, mu: Interval, order: NDArray[np.int64]) -> tuple[int, int]:
    """Return the smallest and largest number of survivors that rounding explains.

    The first mu is 2 tau, which is exact. -log2 of a power of two is a whole number, and a
    function whose error is below 1 ULP gives it: then one cut is right. A subnormal p may be
    flushed to 0, whose surprise is infinite. One that is 0 in float64 has that of its logit.
    """
    p, x = stage.softmax.p[order], stage.before.logits[order].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = np.where(p > 0, -np.log2(p), (x.max() - x) / math.log(2) - np.log2(p.max()))
        error = np.maximum(*stage.softmax.off_in_log(order)) + stage.softmax.common
        error = error / math.log(2) + abs(surprise) * of_function(stage.arithmetic)
    error = np.where(p > 0, error, abs(surprise) * of_function(stage.arithmetic))
    low, high = float(mu.low), float(mu.high)
    if "mu" not in stage.memory and _powers_of_two(stage):
        error = np.zeros_like(error)
        low, high = (2 * tau for tau in stage.hull("tau"))
        values = [s for s in set(surprise) if max(1, (surprise < s).sum()) < (surprise <= s).sum()]
        stage.cuts.append(Cut(0, beside(["comparison"], values, (low, high))))
    surely, possibly = surprise - error > high, surprise + error > low
    possibly |= p < normal_from(stage.arithmetic.probabilities)
    n = len(surprise)
    fewest = max(1, int(possibly.argmax())) if possibly.any() else n
    most = max(1, int(surely.argmax())) if surely.any() else n
    return fewest, most


def _powers_of_two(stage: Stage) -> bool:
    """Return whether every p is a power of two, or 0, in formats that also hold mu."""
    p, arithmetic = stage.softmax.p, stage.arithmetic
    return (
        arithmetic.exp_ulps < 1
        and not arithmetic.log_domain
        and unit(arithmetic.logits) <= unit("float32")
        and bool((np.frexp(p[p > 0])[0] == 0.5).all())
        and float(p[p > 0].min()) >= normal_from(arithmetic.probabilities)
    )


def _keeps(stage: Stage, ranges: list[tuple[int, int]]) -> None:
    n = len(stage.got.ids)
    if not any(fewest <= n <= most for fewest, most in ranges):
        raise Wrong("survivors", got=n, least=ranges[0][0], most=ranges[0][1])
    stage.most_likely_first(by_p=True)
    stage.same_logits()


def _draw_and_steer(stage: Stage, mu: Interval) -> None:
    """Judge p among the survivors and the draw; mu -= eta (surprise - tau)."""
    of = softmax(stage.before.low[stage.at], stage.before.high[stage.at], stage.arithmetic)
    stage.probabilities(of, np.arange(len(stage.at)))
    discrete(stage, stage.sampler.rng)
    p = float(stage.got.p[selected(stage)])
    held = of_report(stage.arithmetic.probabilities)
    share = stage.interval(p * (1 - held), p * (1 + held))
    surprise = -share.through(np.log2, 0.0)
    away = abs(math.log2(p)) * of_function(stage.arithmetic) if p > 0 else 0.0
    moved = mu - stage.parameter("eta") * (surprise.apart(away) - stage.parameter("tau"))
    stage.memory["mu"] = moved


def _kept_by_slope(stage: Stage, mu: Interval, order: NDArray[np.int64]) -> tuple[int, int]:
    """Return the smallest and largest k that rounding explains.

    s = sum(t b) / sum(t t), with t of ranks and b = log(p_i / p_(i + 1)), e = s - 1,
    k = (e 2^mu / (1 - n^-e))^(1 / s). Each log has its stated error and the errors of two p's.
    Behind a subnormal p the quotient may overflow, and it may be flushed to 0: b is infinite or
    NaN, and k is 1.
    """
    sampler, arithmetic, exact = stage.sampler, stage.arithmetic, stage.softmax
    n = len(stage.before.ids)
    p = exact.p[order]
    pairs = min(n - 1, sampler.m - 1 if sampler.m > 0 else n)
    if pairs < 1 or (p[: pairs + 1] <= 0).any():
        return 1, n
    i = np.arange(pairs)
    t = np.log((i + 2) / (i + 1))
    b = np.log(p[:pairs] / p[1 : pairs + 1])
    of_log, u = of_function(arithmetic), unit(arithmetic.probabilities)
    below, above = exact.off_in_log(order[: pairs + 1])
    in_b = 2 * u + abs(b) * of_log
    less, more = below[:-1] + above[1:] + in_b, above[:-1] + below[1:] + in_b
    in_t = 2 * u + t * of_log
    in_sum = of_sum(pairs, arithmetic)
    tb, tt = t * b, t * t
    rest = float((abs(b) * in_t).sum()) + float(abs(tb).sum()) * (in_sum + u)
    off_tt = float((2 * t * in_t).sum()) + float(tt.sum()) * (in_sum + u)
    top, bottom = float(tb.sum()), float(tt.sum())
    tops = Interval(top - float((t * less).sum()) - rest, top + float((t * more).sum()) + rest, u)
    s = tops / Interval(bottom - off_tt, bottom + off_tt, u)
    if s.low <= 0:
        return 1, n
    ends = (float(mu.low), float(mu.high))
    ks = [_k(value, value - 1, m, sampler.n_vocab) for value in _samples(s) for m in ends]
    ks = [k for k in ks if not math.isnan(k)]
    slack = 64 * (of_log + u) * (abs(mu.high) + math.log2(sampler.n_vocab + 1) + 1)
    cancel = u / max(abs(float(s.low) - 1), abs(float(s.high) - 1), u)
    error = slack + cancel * (4 + math.log(sampler.n_vocab + 1))
    if not ks:
        return 1, n
    low, high = min(ks), max(ks)
    fewest = _whole(low * (1 - min(error, 1.0)))
    most = n if not math.isfinite(high) else _whole(high * (1 + error))
    overflows = max(_spread(float(s.high) - 1, m, sampler.n_vocab) for m in ends)
    if high > 2.0**31 * (1 - error) or overflows > largest(arithmetic.logits) * (1 - error):
        fewest = 1  # the conversion to int overflows, or the power of 2 in the format
    if p[: pairs + 1].min() < normal_from(arithmetic.probabilities):
        fewest = 1
    return max(1, min(fewest, n)), max(1, min(most, n))


def _samples(s: Interval) -> list[float]:
    low, high = float(s.low), float(s.high)
    return [float(x) for x in np.linspace(low, high, 9)] + ([1.0] if low <= 1 <= high else [])


def _k(s: float, e: float, mu: float, n_vocab: int) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(_spread(e, mu, n_vocab)) ** (1 / s))


def _spread(e: float, mu: float, n_vocab: int) -> float:
    """Return e 2^mu / (1 - n^-e)."""
    with np.errstate(all="ignore"):
        below = -np.expm1(-e * np.log(np.float64(n_vocab)))
        share = e / below if e != 0 else 1 / np.log(np.float64(n_vocab))
        return float(2.0 ** np.float64(mu) * share)


def _whole(x: float) -> int:
    return int(x) if x < 2.0**31 else 2**31 - 1


def adaptive_p(stage: Stage) -> None:
    """Judge logits that favour probabilities near a target, an interval, and a draw.

    Every operation of the transform is rounded once; p before has the errors of a softmax. The new
    p are the softmax of the logits that the backend itself reports.
    """
    stage.same_ids()
    if not stage.softmax.defined:
        stage.as_reference()
        stage.memory["pending"] = stage.interval(math.nan)
        return
    if stage.hull("target")[1] < 0:
        stage.same_logits()
        stage.probabilities()
        discrete(stage, stage.sampler.rng)
        return
    p = stage.shares()
    weighted, weight = _averages(stage)
    target = stage.parameter("target").clipped(0.0, 1.0)
    adapted = (stage.interval(2.0) * target - weighted / weight).clipped(0.0, 1.0)
    gap = (p - adapted) * (stage.interval(1.0) / stage.interval(*_hull_of(0.3)))
    distance = absolute(gap)
    moved = stage.interval(float(PEAK)) - (
        stage.interval(float(SHARPNESS)) * distance * distance / (stage.interval(1.0) + distance)
    )
    stays = stage.before.logits == -np.inf
    low, high = np.where(stays, -np.inf, moved.low), np.where(stays, -np.inf, moved.high)
    stage.logits_within(Interval(low, high, p.u))
    stage.probabilities_of_report()
    discrete(stage, stage.sampler.rng)
    chosen = selected(stage)
    stage.memory["pending"] = Interval(float(p.low[chosen]), float(p.high[chosen]), p.u)


def _hull_of(value: float) -> tuple[float, float]:
    ends = float(np.float32(value)), value
    return min(ends), max(ends)


def absolute(x: Interval) -> Interval:
    """Return the interval of |x|."""
    inside = (x.low <= 0) & (x.high >= 0)
    low = np.where(inside, 0.0, np.minimum(abs(x.low), abs(x.high)))
    return Interval(low, np.maximum(abs(x.low), abs(x.high)), x.u, x.tiny)


def _averages(stage: Stage) -> tuple[Interval, Interval]:
    if "weighted" in stage.memory:
        return stage.memory["weighted"], stage.memory["weight"]
    rest = stage.interval(1.0) - stage.parameter("decay")
    return stage.parameter("target") / rest, stage.interval(1.0) / rest


def accept_adaptive_p(stage: Stage, token: int) -> None:
    """Move both sums on, if the token is the one that was drawn."""
    pending = stage.memory.pop("pending", None)
    if pending is None or token != stage.got.token or token == NO_TOKEN:
        return
    weighted, weight = _averages(stage)
    decay = stage.parameter("decay")
    stage.memory["weighted"] = pending + decay * weighted
    stage.memory["weight"] = stage.interval(1.0) + decay * weight
