"""The number of draws: from the margin and both error rates, before anything is drawn.

With n draws over bins p, noise = the mean estimate of a right sampler:

    noise + radius(n, alpha) + radius(n, beta) <= margin

Then, by the bounds of tv.py and for any q:
    A right sampler's upper bound is below the margin, with probability >= 1 - beta.
    If TV(q, p) >= margin, the p-value is at most alpha, with probability >= 1 - beta.
In reverse, the left side is the smallest distance that n draws are sure to catch.

Holm's step-down correction covers all tests of a run (Holm 1979); it is valid under any dependence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics import tv

LOOKS = 7  # at n/64, n/32, ..., n: a gross fault is decided with 2% of the draws
MOST_DRAWS = 1 << 40  # a day of draws at ten million a second: a margin that needs more is refused
PARTS = 3  # of the budget: alarms, upper ends, lower ends


@dataclass(frozen=True)
class Errors:
    """The error rates of one test on one backend. alpha: false alarm; also for each interval end.

    beta: the chance that the planned draws do not suffice for a decision.
    """

    alpha: float
    beta: float


@dataclass(frozen=True)
class Budget:
    """The chance that anything that a run states is wrong, and its split.

    A third is for alarms (corrected by Holm), one for upper and one for lower ends of intervals;
    each third is divided by the number of (cell, backend) pairs.
    """

    tests: int
    total: float = 1e-6
    beta: float = 1e-4

    @property
    def each(self) -> Errors:
        return Errors(self.total / (PARTS * max(1, self.tests)), self.beta)


def looks(n: int) -> list[int]:
    """Return the numbers of draws at which a cell may stop; the last one is n."""
    return sorted({max(1, n >> shift) for shift in range(LOOKS)})


def smallest_caught(n: int, p: tv.Probabilities, errors: Errors) -> float:
    """Return the total variation that n draws catch with probability >= 1 - beta, whatever its
    shape."""
    return (
        tv.expected(n, p) + tv.radius(n, errors.alpha / LOOKS) + tv.radius(n, errors.beta)
    )  # alpha / LOOKS, because an upper bound is computed at every look


def draws_for(margin: float, p: tv.Probabilities, errors: Errors) -> int:
    """Return the fewest draws whose smallest_caught is at most the margin."""
    return smallest(lambda n: smallest_caught(n, p, errors) <= margin)


def coupled_draws(margin: float, benign: float, errors: Errors) -> int | None:
    """Return the draws for disagreements under equal uniforms, at most `benign` of them by
    rounding.

    With them a rate of `margin` is an alarm and a rate of `benign` is bounded below the margin,
    each with probability >= 1 - beta. None if rounding alone may reach the margin.
    """
    if benign >= margin:
        return None

    def enough(n: int) -> bool:
        harmless = scipy.stats.binom.isf(errors.beta, n, benign)
        bounded = scipy.stats.binom.cdf(harmless, n, margin) <= errors.alpha / LOOKS
        return bool(bounded) and coupled_caught(n, benign, errors) <= margin

    return smallest(enough)


def coupled_caught(n: int, benign: float, errors: Errors) -> float:
    """Return the rate of disagreements that n coupled draws catch with probability >= 1 - beta: all
    above `benign` are beyond rounding, and one of those is enough."""
    return float(min(1.0, benign + 1 - errors.beta ** (1 / n)))


def rate_draws(margin: float, parts: int, errors: Errors) -> int:
    """Return the draws for a rate known under the null, in `parts` two-sided tests, by Hoeffding's
    inequality."""
    share = errors.alpha / (2 * parts)
    need = np.sqrt(-np.log(share) / 2) + np.sqrt(-np.log(errors.beta / parts) / 2)
    return int(np.ceil((need / margin) ** 2))


def smallest(enough: Callable[[int], bool]) -> int:
    """Return the fewest n for which enough(n) holds, if it holds for all larger n."""
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_DRAWS:
            raise ValueError("no number of draws is enough")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def holm(p_values: NDArray[np.float64], tests: int = 0) -> NDArray[np.float64]:
    """Return adjusted p-values: those at most alpha may be rejected, with family-wise error alpha.

    tests: how many the run has, if more than are given (the others count as not rejected).
    """
    m = max(tests, len(p_values))
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * (m - np.arange(len(p_values)))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(stepped)) if len(order) else []
    return adjusted
