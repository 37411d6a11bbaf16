"""Chance for the rules of speculative sampling: drawn, or enumerated.

A rule asks for uniform numbers and compares them; that is all the chance it has. `Drawn` gives it
numbers of a generator. `enumerate_outcomes` runs the same code once for every way in which its
comparisons can come out, with the probability of each: the exact distribution of the result.

A uniform number that is enumerated is an interval. A comparison that falls inside cuts it and
follows both halves, so that a number which is compared twice, as by a faulty rule, is still one.
With rows of `fractions.Fraction` (NumPy arrays of dtype object) the distribution is exact; with
float64 rows it is off by rounding, 1e-15 a comparison.

Tests: tests/reference/test_speculative_chance.py
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = NDArray[Any]  # probabilities of all tokens: float64[V], or Fractions with dtype object
H = TypeVar("H", bound=Hashable)

MOST_OUTCOMES = 1_000_000


class Chance(Protocol):
    def uniform(self) -> Any:
        """Draw a fresh number, uniform on [0, 1)."""

    def below(self, u: Any, threshold: Any) -> bool:
        """Return u < threshold."""

    def index(self, u: Any, weights: Row) -> int:
        """Return the first i with u < (w_0 + ... + w_i) / sum(w): a draw by weight."""


class Drawn:
    """Numbers of a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def uniform(self) -> float:
        return self._rng.random()

    def below(self, u: Any, threshold: Any) -> bool:
        return bool(u < threshold)

    def index(self, u: Any, weights: Row) -> int:
        running = np.cumsum(weights)
        return int(running.searchsorted(u * running[-1], side="right"))


@dataclass
class _Interval:
    low: Any
    high: Any


@dataclass
class _Path:
    """One way through a rule: its first cuts follow `prefix`, further ones go the first way."""

    prefix: list[bool]
    taken: list[bool] = field(default_factory=list)
    p: Any = 1

    def uniform(self) -> _Interval:
        return _Interval(0, 1)

    def below(self, u: _Interval, threshold: Any) -> bool:
        if u.high <= threshold:
            return True
        if u.low >= threshold:
            return False
        at = len(self.taken)
        is_below = self.prefix[at] if at < len(self.prefix) else True
        self.taken.append(is_below)
        width = u.high - u.low
        if is_below:
            u.high = threshold
        else:
            u.low = threshold
        self.p = self.p * (u.high - u.low) / width
        return is_below

    def index(self, u: _Interval, weights: Row) -> int:
        running = np.cumsum(weights)
        last = int(np.flatnonzero(weights > 0)[-1])
        for i in range(last):
            if weights[i] > 0 and self.below(u, running[i] / running[-1]):
                return i
        return last


def enumerate_outcomes(experiment: Callable[[Chance], H]) -> dict[H, Any]:
    """Return each result of the experiment with its probability. Raises ValueError for too many."""
    distribution: dict[H, Any] = {}
    untaken: list[list[bool]] = [[]]
    for _ in range(MOST_OUTCOMES):
        if not untaken:
            return distribution
        path = _Path(untaken.pop())
        outcome = experiment(path)
        distribution[outcome] = distribution.get(outcome, 0) + path.p
        new = range(len(path.prefix), len(path.taken))
        # each cut beyond the prefix has another side, which a later path takes
        untaken += [[*path.taken[:i], not path.taken[i]] for i in new]
    raise ValueError(f"more than {MOST_OUTCOMES:,} outcomes")
