"""Decide which of two backends is faster, from rounds that are next to each other in time.

In each round both backends time the same chain, in random order. So a disturbance that is longer
than a round slows both down. The ratio is the median over rounds of (ours / baseline). Each is the
fastest of its samples in that round, the one least disturbed by other programs. Its interval comes
from a bootstrap over the rounds.

The noise is the result of such a comparison of the baseline with a second process of itself:
nothing smaller can be judged in that run. A verdict needs more than the effect and the noise:

    slower        the whole interval is above 1 + max(effect, noise)
    faster        the whole interval is below 1 / (1 + max(effect, noise))
    same-within   the whole interval is within [1 / (1 + effect), 1 + effect], and noise <= effect
    inconclusive  anything else
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.statistics.bootstrap import CONFIDENCE, bootstrap_interval

TimingVerdict = Literal["faster", "slower", "same-within", "inconclusive"]

_RESAMPLES = 1000  # the ends of a 95% interval then lie on 25 resamples each


@dataclass(frozen=True)
class RatioInterval:
    """ours / baseline with its interval at CONFIDENCE; above 1 is slower."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A comparison. noise: of the A/A comparison, None without one. why: the reason as text."""

    verdict: TimingVerdict
    ratio: float
    low: float
    high: float
    noise: float | None
    effect: float
    rounds: int
    why: str


def nearest_rank(ns: list[int], quantile: float) -> int:
    """Return the smallest sample that at least this share of the samples does not exceed."""
    return int(np.quantile(ns, quantile, method="inverted_cdf"))


def rounds_of(ns: list[int], repetitions: int) -> NDArray[np.float64]:
    """Return the fastest sample of every round; none if the samples do not fill whole rounds."""
    if not ns or len(ns) % repetitions:
        return np.empty(0)
    fastest: NDArray[np.float64] = np.array(ns, float).reshape(-1, repetitions).min(axis=1)
    return fastest


def least_rounds(confidence: float) -> int:
    """Return the fewest rounds that give an interval: with fewer, all lie on one side too often."""
    return 1 + math.ceil(-math.log2(1 - confidence))


def ratio_of_rounds(
    ours: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE
) -> RatioInterval | None:
    """Return the median of the ratios of paired rounds; None if they do not pair, or a round took
    0."""
    a, b = np.asarray(ours, float), np.asarray(baseline, float)
    if a.shape != b.shape or not len(a) or not (b > 0).all() or not (a > 0).all():
        return None
    ratios = a / b
    value = float(np.median(ratios))
    if len(ratios) < least_rounds(confidence):
        return RatioInterval(value, -math.inf, math.inf)
    if np.ptp(ratios) == 0:
        return RatioInterval(value, value, value)

    return RatioInterval(value, *bootstrap_interval((ratios,), np.median, _RESAMPLES, confidence))


def noise_of(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return how much slower or faster a backend seems than itself; 0.03 is 3%. None: unknown."""
    interval = ratio_of_rounds(second, first)
    if interval is None or not math.isfinite(interval.high):
        return None
    return max(interval.high - 1, 1 / interval.low - 1, 0.0)


def compare_rounds(
    ours: ArrayLike,
    baseline: ArrayLike,
    noise: float | None,
    effect: float,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Return the verdict on two backends. ours, baseline: ns by round; effect: 0.05 is 5%."""
    interval = ratio_of_rounds(ours, baseline, confidence)
    n = int(np.asarray(ours).shape[0])
    if interval is None:
        nothing = "the rounds do not pair, or one took no time"
        return Comparison("inconclusive", math.nan, -math.inf, math.inf, noise, effect, n, nothing)
    verdict, why = _judge(interval, noise, effect)
    if not math.isfinite(interval.high):
        why = f"{n} rounds; an interval takes {least_rounds(confidence)}"
    return Comparison(verdict, interval.ratio, interval.low, interval.high, noise, effect, n, why)


def _judge(
    interval: RatioInterval, noise: float | None, effect: float
) -> tuple[TimingVerdict, str]:
    if noise is None:
        return "inconclusive", "the noise of this run was not measured (no A/A rounds)"
    margin = max(effect, noise)
    if interval.low > 1 + margin:
        return "slower", f"slower by more than {margin:.1%}"
    if interval.high < 1 / (1 + margin):
        return "faster", f"faster by more than {margin:.1%}"
    if noise > effect:
        return "inconclusive", f"the A/A noise of this run, {noise:.1%}, is above {effect:.1%}"
    if interval.low >= 1 / (1 + effect) and interval.high <= 1 + effect:
        return "same-within", f"within {effect:.1%}"
    return "inconclusive", f"the interval reaches over {effect:.1%}: take more rounds"


def compare_backends(result: TimingResult, backend: str, effect: float) -> Comparison:
    """Compare a backend of a record with its baseline, with the noise of the record."""
    baseline = rounds_of(result.ns.get(result.baseline, []), result.repetitions)
    second = rounds_of(result.again, result.repetitions)
    ours = rounds_of(result.ns.get(backend, []), result.repetitions)
    return compare_rounds(ours, baseline, noise_of(baseline, second), effect)
