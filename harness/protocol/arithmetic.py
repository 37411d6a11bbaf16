"""The formats of logits that engines sample from, and the arithmetic that a backend states in its
greeting; the bounds of `--accept correct` follow from it.

A row is float32. In another format it is each value rounded once, to nearest, ties to even: what
overflows is infinite, what is small is denormal, NaN stays NaN. Widening is exact. NumPy has no
bfloat16: its bits are the upper half of those of float32.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sampler_parity.harness.strict import Strict

Format = Literal["float64", "float32", "bfloat16", "float16", "tf32"]
Summation = Literal["sequential", "pairwise", "blocked", "compensated", "unknown"]

# Bits of the significand, the hidden one included (IEEE 754-2019, table 3.5; NVIDIA's for TF32).
SIGNIFICAND: dict[Format, int] = {
    "float64": 53, "float32": 24, "bfloat16": 8, "float16": 11, "tf32": 11,
}  # fmt: skip


class Arithmetic(Strict):
    """Describe formats, sums and functions of a backend. Without it: float32, sums in any order."""

    logits: Format = "float32"
    """format of the logits between the stages"""
    probabilities: Format = "float32"
    """format of the probabilities"""
    sums: Format = "float32"
    """format in which sums of probabilities are accumulated"""
    summation: Summation = "unknown"
    """order of the sums; `unknown` stands for any order"""
    exp_ulps: float = Field(default=4.0, ge=0.5, le=1024)
    """largest error of exp, log and powers, in ULPs of the format of the probabilities; below 1 an
    exact result is given exactly"""
    stable_sort: bool = False
    """whether equal logits keep the order of their ids"""
    log_domain: bool = False
    """whether probabilities are held, summed and compared as their logarithms"""
    flushes_subnormals: bool = False
    """whether operations may take and return 0 for numbers below the smallest normal one"""


# llama.cpp on glibc: sums in order; expf 0.51, logf 0.82, log2f 0.76, powf 0.82 ULP at most
# (glibc 2.28 and newer, sysdeps/ieee754/flt-32).
LLAMA_CPP = Arithmetic(summation="sequential", exp_ulps=0.9)


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
