"""Intervals that contain every correctly rounded evaluation of an expression."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_OURS = 2.0**-51  # float64's own rounding of an end, relative
_TINY = 2.0**-1074


@dataclass(frozen=True)
class Interval:
    """Interval low <= x <= high; both are float64, one number or an array.

    u: the relative error of an operation of the backend. tiny: its absolute error near 0.
    """

    low: Any
    high: Any
    u: float
    tiny: float = 2.0**-126

    def _of(self, low: Any, high: Any, u: float | None = None) -> "Interval":
        return Interval(low, high, self.u, self.tiny).widened(
            (self.u if u is None else u) + _OURS, self.tiny
        )

    def _with(self, value: Any) -> "Interval":
        return value if isinstance(value, Interval) else Interval(value, value, self.u, self.tiny)

    def _both(self, value: Any, apply: Callable[[Any, Any], Any]) -> "Interval":
        b = self._with(value)
        with np.errstate(all="ignore"):
            ends = [apply(x, y) for x in (self.low, self.high) for y in (b.low, b.high)]
            return self._of(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def __add__(self, value: Any) -> "Interval":
        return self._both(value, np.add)

    def __sub__(self, value: Any) -> "Interval":
        return self._both(value, np.subtract)

    def __mul__(self, value: Any) -> "Interval":
        return self._both(value, np.multiply)

    def __truediv__(self, value: Any) -> "Interval":
        """Divide by an interval without 0; the error also covers a product with the reciprocal."""
        quotient = self._both(value, np.divide)
        return quotient.widened(self.u)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low, self.u, self.tiny)

    def widened(self, error: Any, absolute: float = 0.0) -> "Interval":
        """Return the interval with a further error, relative and absolute. Infinite ends stay."""
        with np.errstate(all="ignore"):
            low, high = (
                np.where(np.isfinite(x), x + side * (abs(x) * error + absolute), x)
                for x, side in ((self.low, -1), (self.high, 1))
            )
        return Interval(low, high, self.u, self.tiny)

    def apart(self, error: Any) -> "Interval":
        """Return the interval with a further absolute error."""
        return Interval(self.low - error, self.high + error, self.u, self.tiny)

    def through(self, rising: Callable[[Any], Any], error: float) -> "Interval":
        """Return the values of a rising function that has this relative error."""
        with np.errstate(all="ignore"):
            return self._of(rising(self.low), rising(self.high), error)

    def clipped(self, low: float, high: float) -> "Interval":
        return Interval(
            np.clip(self.low, low, high), np.clip(self.high, low, high), self.u, self.tiny
        )

    def __contains__(self, value: Any) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.all((self.low <= value) & (value <= self.high)))
