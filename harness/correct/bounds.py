"""Bounds of rounding errors in the formats and orders that a backend states.

An interval contains every correctly rounded evaluation of an expression. A decision is exact if
neither the values nor the threshold are rounded: one answer is right.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.arithmetic import SIGNIFICAND, Arithmetic, Format

Reals = NDArray[np.float64]

_LANES = 32
_BLOCK = 16  # terms that a pairwise sum adds one after the other in each of its leaves, at most
_OURS = 2.0**-50  # the error of the few float64 operations of a judge, relative

# Below `zero` a probability is rounded to 0; below `normal` it may be, or has fewer digits.
_ZERO = {"float64": 2.0**-1075, "float32": 2.0**-150, "bfloat16": 2.0**-134, "float16": 2.0**-25,
    "tf32": 2.0**-137}  # fmt: skip
_NORMAL = {"float64": 2.0**-1022, "float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-14,
    "tf32": 2.0**-126}  # fmt: skip
_LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38,
    "bfloat16": 3.3895313892515355e38, "float16": 65504.0,
    "tf32": 3.4011621342146535e38}  # fmt: skip


def unit(kind: Format) -> float:
    """Return the unit roundoff u: fl(x) = x (1 + d), |d| <= u, without under- and overflow."""
    return 2.0 ** -SIGNIFICAND[kind]


def of_report(kind: Format) -> float:
    """Return by what share a report may differ from the number held: a float64 is rounded to
    float32, and every other format fits."""
    return unit("float32") if kind == "float64" else 0.0


def zero_below(kind: Format) -> float:
    """Return the number below which every positive number is rounded to 0."""
    return _ZERO[kind]


def normal_from(kind: Format) -> float:
    """Return the smallest normal number. A backend may flush smaller ones to 0."""
    return _NORMAL[kind]


def largest(kind: Format) -> float:
    """Return the largest finite number."""
    return _LARGEST[kind]


def of_function(arithmetic: Arithmetic) -> float:
    """Return the relative error of exp, log or a power: an ULP is at most 2 u of the value."""
    return 2 * arithmetic.exp_ulps * unit(arithmetic.probabilities)


def of_sum(n: int, arithmetic: Arithmetic) -> float:
    """Return a bound of the error of a sum of n terms, as a share of the sum of their sizes.

    Any order: (n - 1) u (Jeannerod and Rump 2013, without a term in u^2 and for every n). A tree of
    depth h: h u to first order; a compensated sum: 2 u + n^2 u^2 (Higham 2002, section 4.3). One u
    more is for terms that are rounded to the format of the sum. In the log domain the order is any:
    each log(exp a + exp b) has the errors of two functions and u |log| of its result, whose size is
    at most log(n).
    """
    u = unit(arithmetic.sums)
    if arithmetic.log_domain:
        return n * (u * (2 + math.log(max(n, 1))) + 2 * of_function(arithmetic)) + _OURS
    depth: float = max(n - 1, 0)
    match arithmetic.summation:
        case "pairwise":
            depth = min(depth, _BLOCK + math.log2(max(n, 1)))
        case "blocked":
            depth = min(depth, n / _LANES + _LANES + math.log2(_LANES))
        case "compensated":
            depth = min(depth, 2 + n * n * u)
    return (depth + 1) * u * (1 + depth * u if depth < n - 1 else 1) + _OURS


def sums_exactly(values: Any, kind: Format) -> bool:
    """Return whether all sums of some of these non-negative numbers are exact in a format, in any
    order: each is a multiple of some 2^e, and the sum of all is at most 2^e * 2^bits."""
    terms = np.asarray(values, np.float64)
    terms = terms[terms > 0]
    if len(terms) == 0 or not np.isfinite(terms).all():
        return len(terms) == 0
    fractions, exponents = np.frexp(terms)
    integers = np.ldexp(fractions, 53).astype(np.int64)
    # x & -x is the lowest set bit of x
    lowest = int((exponents - 53 + np.log2((integers & -integers).astype(np.float64))).min())
    return float(terms.sum()) <= math.ldexp(1.0, lowest + SIGNIFICAND[kind])


def is_exact(value: float, kind: Format) -> bool:
    """Return whether a float64 is a number of the format; with fewer than 48 bits, if that is
    float64, because a longer one may have been rounded."""
    if not math.isfinite(value) or value == 0:
        return True
    fraction, _ = math.frexp(value)
    return math.ldexp(fraction, min(SIGNIFICAND[kind], 48)).is_integer()


_END = 2.0**-51  # float64's own rounding of an end, relative
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
            (self.u if u is None else u) + _END, self.tiny
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


Decision = tuple[str, str]  # sum, product, comparison or draw; below, at or above

_NEXT = 2.0**-21  # four floats differ by at most this share


def beside(
    operations: Iterable[str], values: Any, threshold: tuple[float, float]
) -> frozenset[Decision]:
    """Return on which sides of a threshold some of the values lie, at most four floats away.

    operations: those that lead to the decision. values: those that decide. threshold: its smallest
    and largest reading; `at` is a value that equals both.
    """
    low, high = threshold
    values = np.asarray(values, np.float64)
    sides = {
        "below": (values < low) & (values >= low - abs(low) * _NEXT),
        "at": (values == low) & (values == high),
        "above": (values > high) & (values <= high + abs(high) * _NEXT),
    }
    return frozenset((o, side) for o in operations for side, there in sides.items() if there.any())
