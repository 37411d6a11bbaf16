"""Bounds of rounding errors in the formats and orders that a backend states."""

import math
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
    more is for terms that are rounded to the format of the sum.
    """
    u = unit(arithmetic.sums)
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
