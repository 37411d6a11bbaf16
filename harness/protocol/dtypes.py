"""Convert rows of logits to the formats that engines sample from: float32, bfloat16, float16.

A row is float32. In another format it is each value rounded once, to nearest, ties to even: what
overflows is infinite, what is small is denormal, NaN stays NaN. Widening is exact. NumPy has no
bfloat16: its bits are the upper half of those of float32.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)

Row = NDArray[np.float32]

_QUIET = 0x0040  # of a NaN: without it one whose bits are all below would become infinite


def narrowed(row: Row, dtype: Dtype) -> NDArray[Any]:
    """Return the row as stored: float32, or uint16 with the bits of the other formats."""
    if dtype == "float32":
        return row
    if dtype == "float16":
        with np.errstate(over="ignore", under="ignore"):
            return row.astype(np.float16).view(np.uint16)
    bits = row.view(np.uint32)
    even = (bits >> 16) & 1
    upper = ((bits.astype(np.uint64) + 0x7FFF + even) >> 16).astype(np.uint16)
    return np.where(np.isnan(row), (bits >> 16).astype(np.uint16) | _QUIET, upper)


def widened(bits: NDArray[Any], dtype: Dtype) -> Row:
    """Return the float32 values of a row as stored."""
    if dtype == "float32":
        return bits
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(row: Row, dtype: Dtype) -> Row:
    """Return the float32 values of a row after a round trip through this format."""
    return row if dtype == "float32" else widened(narrowed(row, dtype), dtype)
