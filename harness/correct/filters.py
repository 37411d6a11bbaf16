"""Judges of the samplers that remove or mask candidates. A cut by mass keeps candidates until a
running sum of probabilities reaches a threshold.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import (
    Decision,
    Interval,
    Reals,
    beside,
    is_exact,
    largest,
    normal_from,
    of_function,
    of_report,
    of_sum,
    sums_exactly,
    unit,
    zero_below,
)
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong


def cut_by_mass(
    stage: Stage,
    threshold: tuple[float, float],
    at_least: int,
    normalizer: tuple[float, float],
    strict: bool = False,
) -> None:
    """Require the survivors to be the first i + 1 candidates, i the first with enough mass.

    Enough: p_0 + ... + p_i >= threshold (strict: >), and i + 1 >= at_least. The mass is that of the
    probabilities that the backend itself reports, so errors of p count once. Its sum may be off by
    `of_sum`, in whatever order the backend adds. If it adds from the other end and compares with
    1 - threshold, so may that of the removed ones, and the sum of all p is not 1. If all these sums
    are exact in the format, and 1 - threshold is, one cut is right. Raises Wrong.
    """
    p = stage.got.p.astype(np.float64)
    n, everything = len(p), len(stage.before.ids)
    if not stage.softmax.defined or n == 0:
        if n != len(stage.want):
            raise Wrong("survivors", got=n, expected=len(stage.want))
        return
    mass = np.cumsum(p)
    low, high = threshold
    sums, exact = stage.arithmetic.sums, exact_sums(stage, p)
    error = 0.0
    away = max(0 if is_exact(1 - t, sums) else abs(1 - t) * unit(sums) for t in threshold)
    away += of_log(stage, low)
    if not exact:
        error = of_sum(n, stage.arithmetic) + of_report(stage.arithmetic.probabilities)
        away += of_sum(everything - n, stage.arithmetic) * max(0.0, 1 - float(mass[-1]))
        away += max(abs(1 - normalizer[0]), abs(normalizer[1] - 1)) + stage.softmax.total
    elif n < everything and not sums_exactly(stage.softmax.p[_tail(stage)], sums):
        exact = False
        away += _from_the_end(stage, float(mass[-2] if n > 1 else 0.0), normalizer)
    at_least = max(1, at_least)
    if n < min(at_least, everything):
        raise Wrong("survivors", got=n, at_least=min(at_least, everything))
    if n < everything and not _enough(mass[-1] * (1 + error), low - away, strict):
        least = max(n + 1, 1 + int((_exact_mass(stage) < low).sum()))
        raise Wrong(
            "survivors", expected=min(least, everything), mass=float(mass[-1]), threshold=low
        )
    if n - 1 >= at_least and _enough(mass[-2] * (1 - error), high + away, strict):
        most = max(at_least, min(n - 1, 1 + int((_exact_mass(stage) < high).sum())))
        raise Wrong("survivors", expected=most, mass=float(mass[-2]), threshold=high)
    decided: frozenset[Decision] = frozenset()
    for i in range(max(n - 1, at_least), min(n, everything - 1) + 1) if exact else ():
        by = "sum" if i > 1 else "comparison"
        decided |= beside([by], mass[i - 1], (low - away, high + away))
    # sums of logarithms round to one side of the sum of the reported p
    of_sums = not stage.arithmetic.log_domain
    lean = _lean(mass, threshold, at_least, everything, strict) if of_sums else 0
    stage.cuts.append(Cut(lean, decided))


def _exact_mass(stage: Stage) -> Reals:
    """Return the running sums of the survivors' p, then of the others', the largest first."""
    p = stage.softmax.p
    return np.cumsum(np.append(p[stage.at], np.sort(p[stage.removed])[::-1]))


def _tail(stage: Stage) -> NDArray[np.int64]:
    """Return the places of the last survivor and of the candidates that are gone."""
    return np.append(stage.removed, stage.at[-1])


def _from_the_end(stage: Stage, mass: float, normalizer: tuple[float, float]) -> float:
    """Return by how much 1 - the sum of the tail may differ from the mass of the others: the tail
    has errors of its own, of each p, the normalizer and the sum."""
    gone = _tail(stage)
    tail, errors = stage.softmax.p[gone], stage.softmax.errors[gone]
    share = of_sum(len(gone), stage.arithmetic) + max(1 - normalizer[0], normalizer[1] - 1)
    return float(abs(1 - tail.sum() - mass) + (tail * errors).sum() + tail.sum() * share)


def exact_sums(stage: Stage, p: Reals) -> bool:
    """Return whether no sum of these probabilities is rounded. The report shows only 24 bits of a
    float64; then p must be the exact value, as for equal logits."""
    if stage.arithmetic.log_domain:
        return False
    if stage.arithmetic.probabilities == "float64":
        held = stage.softmax.p[stage.at]
        return bool((abs(held - p) <= 2.0**-50 * p).all()) and sums_exactly(p, "float32")
    return sums_exactly(p, stage.arithmetic.sums)


def of_log(stage: Stage, threshold: float) -> float:
    """Return by how much a threshold is off that is compared by its logarithm: log has its stated
    error, and both logarithms are rounded."""
    if not stage.arithmetic.log_domain or threshold <= 0:
        return 0.0
    u = unit(stage.arithmetic.sums)
    return threshold * abs(math.log(threshold)) * (of_function(stage.arithmetic) + 2 * u)


def _enough(mass: float, threshold: float, strict: bool) -> bool:
    return mass > threshold if strict else mass >= threshold


def _lean(
    mass: Reals, threshold: tuple[float, float], at_least: int, everything: int, strict: bool
) -> int:
    """Return how many tokens the cut is behind the exact sum of the reported p, or ahead of it."""
    low, high = threshold
    enough = mass > high if strict else mass >= high
    enough[: at_least - 1] = False
    n = len(mass)
    if enough.any():
        return n - 1 - int(enough.argmax())
    return -1 if n < everything and mass[-1] < low else 0


def top_k(stage: Stage) -> None:
    """Require the k largest logits, in order. Nothing is computed."""
    k = stage.sampler.k
    if k <= 0:
        stage.unchanged()
        return
    if len(stage.got.ids) != len(stage.want):
        raise Wrong("survivors", got=len(stage.got.ids), expected=len(stage.want))
    stage.most_likely_first()
    stage.same_values()


def top_p(stage: Stage) -> None:
    """Require the smallest set of most likely tokens whose mass reaches p: `cut_by_mass`."""
    low, high = stage.hull("p")
    if high >= 1:
        stage.unchanged()
        return
    stage.none_selected()
    stage.most_likely_first(by_p=True)
    stage.same_logits()
    normalizer = stage.probabilities()
    cut_by_mass(stage, (low, high), stage.sampler.min_keep, normalizer)


def min_p(stage: Stage) -> None:
    """Require each token with logit >= max + log(p), or p_i >= p max p.

    log(p) has its stated error and the sum is rounded once: w = |log p| (e + u) + |max + log p| u.
    A comparison of probabilities has the errors of two p's and of a product instead: 2 |log p| u
    for the differences and 2 e + 8 u for the rest. If log(sum) is subtracted first, it is at most
    log(n), which adds 6 u log(n). p = 1 needs no log(p), and equal logits are always equal.
    """
    low, high = stage.hull("p")
    if high <= 0 or len(stage.before.ids) == 0:
        stage.unchanged()
        return
    stage.same_values()
    top = float(stage.before.high.max())
    if not math.isfinite(top) or np.isnan(stage.before.logits).any():
        stage.as_reference()
        return
    u, of_p = unit(stage.arithmetic.logits), unit(stage.arithmetic.probabilities)
    away = abs(math.log(low)) if low > 0 else math.inf
    width = 2 * of_function(stage.arithmetic) + 8 * of_p + 6 * u * math.log(len(stage.before.ids))
    if low < 1 or high > 1:
        width += away * (of_function(stage.arithmetic) + 3 * u) + (abs(top) + away) * u
    exact = top + math.log(low) if low > 0 else -math.inf, top + math.log(high)
    cut = exact[0] - width, exact[1] + width
    if high <= 1:  # max + log(p) is never rounded beyond max
        cut = cut[0], min(cut[1], top)
    _above(stage, cut, exact, max(1, stage.sampler.min_keep))
    logits = stage.before.high
    if low == high == 1 and stage.sampler.min_keep <= (logits == top).sum():
        decided = np.append(logits[logits < cut[0]], logits[logits == top][1:])
        stage.cuts.append(Cut(0, beside(["comparison"], decided, (top, top))))


def _above(
    stage: Stage, cut: tuple[float, float], exact: tuple[float, float], at_least: int
) -> None:
    """Require all surely above the cut to stay and all surely below to go; between them a larger
    logit never goes before a smaller one. With fewer than at_least the largest so many stay. exact:
    the cut by both readings of p; one between them does not lean."""
    surely = stage.before.low >= cut[1]
    possibly = stage.before.high >= cut[0]
    n, least, most = len(stage.got.ids), int(surely.sum()), int(possibly.sum())
    stays = np.zeros(len(stage.before.ids), bool)
    stays[stage.at] = True
    if not (np.diff(stage.at) > 0).all():
        if 0 < least >= at_least and not stage.before.sorted:
            raise Wrong("ids", reason="candidates that are not sorted keep their order")
        stage.most_likely_first()
    if least < at_least and n == min(at_least, len(stays)):
        stage.largest_survive()
        return
    if n < at_least or n > max(most, at_least):
        at_least = min(at_least, len(stays))
        raise Wrong("survivors", got=n, least=max(least, at_least), most=max(most, at_least))
    if (surely & ~stays).any() or (stays & ~possibly).any():
        at = int(((surely & ~stays) | (stays & ~possibly)).argmax())
        raise Wrong("survivors", id=int(stage.before.ids[at]), kept=bool(stays[at]),
                    expected=min(max(n, least), most),
                    logit=float(stage.before.logits[at]), low=cut[0], high=cut[1])  # fmt: skip
    gone = stage.before.low[stage.removed].max(initial=-np.inf)
    if len(stage.at) and gone >= stage.before.high[stage.at].min() and not gone == -np.inf:
        raise Wrong("survivors", reason="an equal or larger logit is removed")
    nearly = possibly & ~surely
    lean = int((nearly & stays & (stage.before.logits < exact[0])).sum())
    lean -= int((nearly & ~stays & (stage.before.logits >= exact[1])).sum())
    stage.cuts.append(Cut(lean))


def typical_p(stage: Stage) -> None:
    """Require the tokens nearest to the entropy H, in that order, until their mass exceeds p.

    The surprise -log p has the relative error of p as absolute error, and that of log on its value.
    H = sum p_i s_i has the errors of its terms and of its sum. If some p is 0 every distance is NaN
    and the order arbitrary; then any order is right, and the cut follows it. So it is if some p is
    subnormal and the backend states that it flushes such numbers.
    """
    low, high = stage.hull("p")
    if high >= 1:
        stage.unchanged()
        return
    stage.none_selected()
    stage.same_logits()
    normalizer = stage.probabilities()
    exact, kind = stage.softmax, stage.arithmetic.probabilities
    flushed = normal_from(kind) if stage.arithmetic.flushes_subnormals else 0.0
    if exact.defined and exact.p.min() > max(2.0**20 * zero_below(kind), flushed):
        keys, errors = distances(stage)
        _in_key_order(stage, keys - errors, keys + errors)
    cut_by_mass(stage, (low, high), stage.sampler.min_keep, normalizer, strict=True)


def distances(stage: Stage) -> tuple[Reals, Reals]:
    """Return |s_i - H| of every candidate before, and the error of each; every p is above 0."""
    exact = stage.softmax
    surprise, (entropy, error) = -np.log(exact.p), exact.entropy
    errors = exact.errors + exact.common + abs(surprise) * of_function(stage.arithmetic)
    u = unit(stage.arithmetic.probabilities)
    return abs(surprise - entropy), errors + error + (abs(surprise) + entropy) * u


def _in_key_order(stage: Stage, small: Reals, large: Reals) -> None:
    """Require the survivors to come in ascending order of a key that is only known to be between
    small and large, and no candidate that is gone to be surely before the last of them."""
    at_least = np.maximum.accumulate(small[stage.at])
    too_near = large[stage.at] < at_least
    if too_near.any():
        stage.wrong(
            "ids", int(too_near.argmax()), reason="it is nearer to the entropy than one before"
        )
    if len(stage.removed) and len(at_least) and large[stage.removed].min() < at_least[-1]:
        nearest = stage.removed[large[stage.removed].argmin()]
        raise Wrong("ids", id=int(stage.before.ids[nearest]), reason="a nearer one is removed")


def xtc(stage: Stage) -> None:
    """Require that at times only the least likely of the tokens with p_i >= t stays.

    The draw is one uniform float, which is compared exactly. p_i lies within its bounds, with the
    normalizer that the survivors show.
    """
    p, t = stage.hull("p"), stage.hull("t")
    if p[1] <= 0 or t[0] > 0.5 or len(stage.before.ids) < 2:
        stage.unchanged()
        return
    u = float(stage.sampler.rng.uniform_float())
    stage.cuts.append(Cut(0, beside(["draw"], [u], p)))
    if u > p[1]:
        stage.unchanged()
        return
    if u > p[0] and np.array_equal(stage.got.ids, stage.before.ids):
        stage.unchanged()
        return
    stage.none_selected()
    stage.same_logits()
    normalizer = stage.probabilities()
    _without_top(stage, t, normalizer)


def _without_top(stage: Stage, t: tuple[float, float], normalizer: tuple[float, float]) -> None:
    n, everything = len(stage.got.ids), len(stage.before.ids)

    def left(top: int) -> int:
        """Return how many stay of this many top choices."""
        stay = everything - top + 1
        return stay if top > 1 and stay >= stage.sampler.min_keep else everything

    exact = stage.softmax
    order = np.argsort(-exact.p, kind="stable")
    if stage.before.sorted and np.array_equal(stage.at, np.arange(everything - n, everything)):
        order = np.arange(everything)  # as they are: llama.cpp takes them for sorted
    else:
        _least_likely(stage)
    if not exact.defined:
        if n != len(stage.want):
            raise Wrong("survivors", got=n, expected=len(stage.want))
        return
    ranked, error = exact.p[order], exact.errors[order]
    decided: frozenset[Decision] = frozenset()
    if (
        not stage.arithmetic.log_domain
        and sums_exactly(exact.p, stage.arithmetic.probabilities)
        and (stage.got.p == exact.p[stage.at]).all()
    ):
        error = np.zeros_like(error)
        normalizer = 1.0, 1.0
        values = [x for x in set(ranked) if left((ranked > x).sum()) != left((ranked >= x).sum())]
        decided = beside(["comparison"], values, t)
    away = of_log(stage, t[0])
    most = _leading(ranked * (1 + error) * normalizer[1] >= t[0] - away)
    least = _leading(ranked * (1 - error) * normalizer[0] >= t[1] + away)
    reachable = {left(top) for top in range(least, most + 1)}
    if n not in reachable:
        raise Wrong("survivors", got=n, reachable=sorted(reachable)[:4])
    lean = int(np.sign(n - left((exact.p >= t[1]).sum()))) if len(reachable) > 1 else 0
    stage.cuts.append(Cut(lean, decided))


def _leading(enough: NDArray[np.bool_]) -> int:
    """Return how many are enough before the first that is not."""
    return int(np.logical_and.accumulate(enough).sum())


def _least_likely(stage: Stage) -> None:
    """Require the survivors in descending order, and the removed ones to be larger."""
    stage.descending(by_p=True)
    high = stage.before.high
    if len(stage.removed) and len(stage.at):
        at = int(stage.removed[high[stage.removed].argmin()])
        if stage.before.low[stage.at].max() > high[at] + 2 * stage.softmax.errors[at]:
            raise Wrong("ids", id=int(stage.before.ids[at]), reason="a smaller one is removed")


def top_n_sigma(stage: Stage) -> None:
    """Require logits below max - n std to be masked.

    The sum may be off by `of_sum`, so the mean is off by m; each difference from it is rounded, and
    m adds its square to the variance. The root halves the relative error. If sum, mean, squares and
    root are exact, so is the cut.
    """
    n = stage.hull("n")
    stage.all_but_logits()
    logits, got = stage.before.logits, stage.got.logits
    valid = stage.before.low[logits != -np.inf]
    if n[1] <= 0 or len(logits) <= 1:
        stage.same_logits()
        return
    if len(valid) == 0 or not np.isfinite(valid).all():
        stage.as_reference()
        return
    if overflows(stage, valid) and np.array_equal(got, logits):
        return
    low, high, exactly = _sigma_cut(stage, valid, n)
    masked = got == -np.inf
    survives = ~masked
    stage_logits = np.where(masked, logits, got)
    if not np.array_equal(stage_logits, logits):
        stage.same_logits()
    with np.errstate(invalid="ignore"):
        wrong = (survives & (stage.before.high < low)) | (
            masked & (stage.before.low >= high) & (logits != -np.inf)
        )
    if wrong.any():
        i = int(wrong.argmax())
        stage.wrong("logits", i, logit=float(logits[i]), low=low, high=high)
    newly = masked & (logits != -np.inf)
    if (
        newly.any()
        and survives.any()
        and stage.before.low[newly].max() >= stage.before.high[survives].min()
    ):
        raise Wrong("logits", reason="a larger logit is masked, a smaller one is not")
    stage.cuts.append(Cut(0, beside(exactly, valid, (low, high))))


def overflows(stage: Stage, valid: Reals) -> bool:
    """Return whether a sum of logits or squares is no number of the format: nothing is masked."""
    most = min(largest(stage.arithmetic.sums), largest("float32"))
    return float(abs(valid).sum()) > most or float(((valid - valid.mean()) ** 2).sum()) > most


def _sigma_cut(
    stage: Stage, valid: Reals, n: tuple[float, float]
) -> tuple[float, float, list[str]]:
    """Return the smallest and largest cut that rounding explains, and the operations that are exact
    if all are but the rounding of n. valid: no -inf."""
    kind, u = stage.arithmetic.logits, unit(stage.arithmetic.logits)
    count, top = len(valid), stage.interval(float(valid.max()), float(stage.before.high.max()))
    mean = math.fsum(valid.tolist()) / count
    squares = (valid - mean) ** 2
    std = math.sqrt(float(squares.sum()) / count)
    in_sum = of_sum(count, stage.arithmetic)
    product = float(stage.sampler.n) * std
    steps = (mean * count, mean, *(valid - mean)[:64], float(squares.sum()), std, product)
    width = (stage.before.high - stage.before.low)[stage.before.logits != -np.inf]
    if (
        not width.any() and sums_exactly(abs(valid), kind) and sums_exactly(squares, kind)
        and all(is_exact(float(step), kind) for step in (*steps, float(top.low) - product))
    ):  # fmt: skip
        ends = [float(top.low) - factor * std for factor in n]
        away = 2.0**-48 * (float(abs(top.low)) + product) if n[0] != n[1] else 0.0
        exactly = ["sum", "comparison"] + ["product"] * (std not in (0, 1) and 1 not in n)
        return ends[1] - away, ends[0] + away, exactly
    off = in_sum * float(abs(valid).sum()) / count + abs(mean) * 2 * u
    off += float(width.mean())
    off_std = math.sqrt(std**2 * (1 + in_sum + 8 * u) + off**2) - std
    off_std += std * (in_sum / 2 + 4 * u) + float(width.max()) + u * float(abs(valid).max())
    spread = Interval(max(std - off_std, 0.0), std + off_std, u)
    reached = top - stage.interval(*n) * spread
    return float(reached.low), float(reached.high), []
