"""Judges of the samplers that change logits: each new value lies within its interval."""

import math

import numpy as np

from sampler_parity.harness.correct.bounds import Interval, Reals, largest, of_function, unit
from sampler_parity.harness.correct.softmax import REPORTED
from sampler_parity.harness.correct.stage import Stage, Wrong
from sampler_parity.reference import floats
from sampler_parity.reference.samplers.dry import FLOAT_MAX_LOG


def temp(stage: Stage) -> None:
    """Require logit / temp, or logit * (1 / temp): at most 2 u."""
    low, high = stage.hull("temp")
    if low == high == 1:
        stage.unchanged()
        return
    stage.all_but_logits()
    if high <= 0:
        only_the_largest(stage)
        return
    row = stage.interval(stage.before.low, stage.before.high)
    stage.logits_within(_finite_to(stage, row / stage.interval(low, high)))


def _finite_to(stage: Stage, bounds: Interval) -> Interval:
    """Let what may overflow be infinite."""
    most = largest(stage.arithmetic.logits)
    most = min(most, largest("float32"))  # a report is float32
    with np.errstate(invalid="ignore"):
        high = np.where(bounds.high > most, np.inf, bounds.high)
        low = np.where(bounds.low < -most, -np.inf, bounds.low)
    return Interval(low, high, bounds.u, bounds.tiny)


def only_the_largest(stage: Stage) -> None:
    """Require one of the largest logits to stay, and -inf everywhere else."""
    if len(stage.got.ids) == 0:
        return
    logits = stage.got.logits
    stays = np.flatnonzero(logits != -np.inf)
    if len(stays) == 0 and np.array_equal(stage.want.logits, logits):
        return
    if np.isnan(stage.before.logits).any():
        stage.as_reference()
        return
    if len(stays) != 1 or logits[stays[0]] != stage.before.logits[stays[0]]:
        raise Wrong("logits", reason="not one logit alone stays as it was")
    if stage.before.high[stays[0]] < stage.before.low.max():
        stage.wrong("logits", int(stays[0]), reason="it is not the largest")


def temp_ext(stage: Stage) -> None:
    """Require one temperature within the bounds of T, which explains every logit.

    Entropy: each term p log p has the errors of p and of log, and the sum has its own. The share of
    the largest entropy is raised to a power, whose error is that of exp and log with the exponent's
    product between them. The new p are the softmax of the logits that the backend itself reports.
    """
    if stage.hull("delta")[1] <= 0:
        temp(stage)
        return
    if len(stage.before.ids) <= 1:
        stage.unchanged()
        return
    stage.none_selected()
    if len(stage.got.ids) != len(stage.before.ids):
        raise Wrong("survivors", got=len(stage.got.ids), expected=len(stage.before.ids))
    stage.most_likely_first(by_p=True)
    share, exponent = _entropy_share(stage), float(stage.sampler.exponent)
    try:
        explained_by_one(stage, *_temperature(stage, share))
    except Wrong:
        # -0.0, or an entropy rounded below 0, has a negative power
        if share.low > 0 or exponent >= 0 or exponent % 2 != 1:
            raise
        explained_by_one(stage, *_temperature(stage, share, below_0=True))
    stage.probabilities_of_report()


def _temperature(stage: Stage, share: Interval, below_0: bool = False) -> tuple[float, float]:
    """Return the smallest and largest temperature that rounding explains. below_0: the share of the
    entropy is."""
    middle, half = stage.parameter("temp"), stage.parameter("delta")
    lowest, highest = (middle - half).clipped(0.0, np.inf), middle + half
    exponent = stage.parameter("exponent")
    powers = [_power(s, e) for s in (share.low, share.high) for e in (exponent.low, exponent.high)]
    u, of_log = unit(stage.arithmetic.logits), of_function(stage.arithmetic)
    logs = [abs(e * math.log(s)) for s, e in ((share.low, exponent.high),) if s > 0]
    error = of_log + 2 * max(logs, default=0.0) * (u + of_log) + 2 * u
    power = stage.interval(min(powers), max(powers)).widened(error)
    power = stage.interval(-power.high, -power.low) if below_0 else power
    temperature = lowest + (highest - lowest) * power
    return max(float(temperature.low), 0.0), float(temperature.high)


@floats.quiet
def _power(base: float, exponent: float) -> float:
    return float(np.float64(max(base, 0.0)) ** exponent)


def _entropy_share(stage: Stage) -> Interval:
    exact, arithmetic = stage.softmax, stage.arithmetic
    if not exact.defined:
        return stage.interval(0.0, 0.0)
    entropy, error = exact.entropy
    most, of_p = math.log(len(stage.before.ids)), unit(arithmetic.probabilities)
    of_most = of_p / most + of_function(arithmetic) + 2 * of_p
    u = unit(arithmetic.logits)
    return Interval(
        max(entropy - error, 0.0) / (most * (1 + of_most)) * (1 - u),
        (entropy + error) / (most * (1 - of_most)) * (1 + u), u,
    )  # fmt: skip


def explained_by_one(stage: Stage, low: float, high: float) -> None:
    """Require logit / T of all candidates for one T in low..high."""
    before_low, before_high = stage.before.low[stage.at], stage.before.high[stage.at]
    got = stage.got.logits.astype(np.float64)
    if low <= 0 and (got == -np.inf).sum() >= len(got) - 1:
        masked = got == -np.inf
        if (masked | (stage.got.logits == stage.before.logits[stage.at])).all():
            return
    if high <= 0:
        raise Wrong("logits", reason="the temperature is 0")
    # 1e-45 is the smallest float32 above 0
    bounds = stage.interval(before_low, before_high) / stage.interval(max(low, 1e-45), high)
    stage.logits_within(_finite_to(stage, bounds))
    error = 2 * unit(stage.arithmetic.logits) + 2 * REPORTED
    usable = np.isfinite(got) & np.isfinite(before_low)
    # the quotient of logits close to 0 determines the temperature badly
    usable &= (abs(got) > 1e-30) & (abs(before_low) > 1e-30)
    if not usable.any():
        return
    with np.errstate(all="ignore"):
        ends = np.array([before_low[usable] / got[usable], before_high[usable] / got[usable]])
    if float((ends.min(0) * (1 - error)).max()) > float((ends.max(0) * (1 + error)).min()):
        raise Wrong("logits", reason="no single temperature explains them")


def penalties(stage: Stage) -> None:
    """Require each operation of the two lines to be rounded once.

    Both amounts may be subtracted at once or in turn.
    """
    stage.all_but_logits()
    sampler = stage.sampler
    nothing = {"penalty_repeat": 1, "penalty_freq": 0, "penalty_present": 0}
    off = all(stage.hull(name) == (value, value) for name, value in nothing.items())
    if off or sampler.penalty_last_n == 0:
        stage.same_logits()
        return
    tokens, counts = sampler.history.counts()
    at = stage.before.candidates().positions(tokens)
    indices, count = at[at >= 0], counts[at >= 0].astype(np.float64)
    old = stage.interval(stage.before.low[indices], stage.before.high[indices])
    repeat = stage.parameter("penalty_repeat")
    times, over = old * repeat, old / repeat
    negative = stage.before.logits[indices] <= 0
    repeated = stage.interval(
        np.where(negative, times.low, over.low), np.where(negative, times.high, over.high)
    )
    by_count = stage.interval(count) * stage.parameter("penalty_freq")
    present = stage.parameter("penalty_present")
    at_once, in_turn = repeated - (by_count + present), (repeated - by_count) - present
    changed = stage.interval(stage.before.low.copy(), stage.before.high.copy())
    changed.low[indices] = np.minimum(at_once.low, in_turn.low)
    changed.high[indices] = np.maximum(at_once.high, in_turn.high)
    stage.logits_within(_finite_to(stage, changed))


def logit_bias(stage: Stage) -> None:
    """Require each sum to be rounded once; a bias is a JSON number or its nearest float32.

    The error is of the largest number that occurs: the logit, the result, or what is added.
    """
    stage.all_but_logits()
    exact, old = _in_float64(stage), stage.before.low
    u = unit(stage.arithmetic.logits)
    with np.errstate(invalid="ignore"):
        added = np.where(np.isfinite(exact) & np.isfinite(old), abs(exact - old), 0.0)
        largest_one = np.where(np.isfinite(exact), abs(exact), 0.0) + added
        away = np.where(exact != old, 4 * u * largest_one + 2 * REPORTED * added, 0.0)
        away += np.where(np.isfinite(old), stage.before.high - old, 0.0)
    stage.logits_within(_finite_to(stage, Interval(exact - away, exact + away, u)))


def _in_float64(stage: Stage) -> Reals:
    """Return the logits that the reference leaves if it computes in float64."""
    before = stage.before.candidates()
    before.logits, before.p = stage.before.low.copy(), before.p.astype(np.float64)
    stage.sampler.clone().apply(before)
    return np.asarray(before.logits)


def dry(stage: Stage) -> None:
    """Require the penalty multiplier * base ** n.

    A parameter is the JSON number or its nearest float32, so the power has n times the difference
    in base: 0 for 1.75. A power by exp and log has n log(base) (e + u) more. All of it is a share
    of the penalty. A power that is no number of the format is infinite, whatever the multiplier.
    The limit of the exponent is a quotient cut to a whole number, which rounding may move by one.
    """
    stage.all_but_logits()
    sampler = stage.sampler
    exact, old = _in_float64(stage), stage.before.low
    u = unit(stage.arithmetic.logits)
    power = 0.0
    if sampler.on and sampler.dry_base > 1:
        longest = len(sampler.history) * float(floats.log(sampler.dry_base))
        power = min(float(FLOAT_MAX_LOG), longest)
    grow = 0.0
    if sampler.on:
        grow = len(sampler.history) * _apart(stage, "dry_base") + _apart(stage, "dry_multiplier")
    with np.errstate(invalid="ignore"):
        penalty = np.nan_to_num(abs(old - exact), posinf=0.0)
        of_log = of_function(stage.arithmetic)
        error = 4 * u + of_log + 2 * power * (u + of_log / 8)
        away = penalty * (error + grow) + np.where(penalty > 0, 2 * u * (abs(old) + penalty), 0.0)
        away = np.nan_to_num(away, posinf=0.0) + np.nan_to_num(stage.before.high - old)
        low, high = exact - away, exact + away
        for factor in _by_other_limits(stage, penalty):
            moved = old - (old - exact) * factor
            low, high = np.minimum(low, moved - away * factor), np.maximum(high, moved + away)
        # math.exp raises OverflowError above 709
        if math.exp(min(power, 700.0)) * (1 + grow + error) > largest(stage.arithmetic.logits):
            low = np.where((penalty > 0) & (stage.got.logits == -np.inf), -np.inf, low)
    stage.logits_within(_finite_to(stage, Interval(low, high, u)))


def _by_other_limits(stage: Stage, penalty: Reals) -> list[Reals]:
    """Return the factors of the penalties at the limit of the exponent, log(largest float) /
    log(base), for each other whole number that rounding explains."""
    base, limited = (
        float(stage.sampler.dry_base),
        FLOAT_MAX_LOG / floats.log(stage.sampler.dry_base),
    )
    if not penalty.any() or base <= 1.000001 or not math.isfinite(limited):
        return []
    error = of_function(stage.arithmetic) + 2 * unit(stage.arithmetic.logits) + 2.0**-28
    error += _apart(stage, "dry_base") / math.log(base)
    quotient, limit = float(FLOAT_MAX_LOG) / math.log(base), int(limited)
    others = {int(quotient * (1 - error)), int(quotient * (1 + error))} - {limit}
    least = abs(float(stage.sampler.dry_multiplier)) * base**limit * (1 - 2.0**-20)
    return [np.where(penalty >= least, base ** (other - limit), 1.0) for other in others]


def _apart(stage: Stage, parameter: str) -> float:
    """Return how far the two readings of a parameter are apart, relative."""
    low, high = stage.hull(parameter)
    return (high - low) / min(abs(low), abs(high)) if high > low else 0.0


def mask_alone(stage: Stage) -> None:
    """Require the reference's mask: a grammar computes nothing."""
    stage.all_but_logits()
    expected = np.where(stage.want.logits == -np.inf, stage.want.logits, stage.before.logits)
    stage.same("logits", expected, stage.got.logits)
