"""C float arithmetic, operation by operation.

llama.cpp computes in `float`, one operation after the other, with glibc's `expf`, `logf`, `log2f`
and `powf`. NumPy's own float32 `exp` and `log` are other approximations (they differ from glibc's
in the last bit for 40% of arguments) and `ndarray.sum` adds pairwise; so both are replaced here.
Addition, subtraction, multiplication, division and comparison of NumPy float32 arrays and scalars
are C's. LLVM does not contract them to fused multiply-adds unless asked to, and GCC compiles
llama-sampler.cpp for x86-64 without FMA.

Every function takes float32 or float64 and computes in that type: float32 gives llama.cpp's bits,
float64 the result without (much) rounding.
"""

import ctypes
import ctypes.util
import math
import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.compiled import jit, vectorize

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Float: TypeAlias = np.floating[Any]

_BOTH = ["f4(f4)", "f8(f8)"]


@vectorize(_BOTH)
def exp(x: float) -> float:
    """glibc `expf` / `exp`, elementwise."""
    return math.exp(x)


@vectorize(_BOTH)
def log(x: float) -> float:
    """glibc `logf` / `log`, elementwise; log(0) = -inf, log(x < 0) = NaN."""
    return math.log(x)


@vectorize(_BOTH)
def log2(x: float) -> float:
    """glibc `log2f` / `log2`, elementwise."""
    return math.log2(x)


_C_LIBRARY = "ucrtbase" if sys.platform == "win32" else "libm.so.6"
_libm = ctypes.CDLL(ctypes.util.find_library("m") or _C_LIBRARY)
_libm.powf.restype = ctypes.c_float
_libm.powf.argtypes = [ctypes.c_float, ctypes.c_float]
_libm.pow.restype = ctypes.c_double
_libm.pow.argtypes = [ctypes.c_double, ctypes.c_double]


def power(base: Float, exponent: Float) -> Float:
    """glibc `powf(base, exponent)`, or `pow` where base is float64.

    Called through ctypes and not compiled by Numba, because LLVM rewrites pow(2, x) to exp2(x),
    which is not the same number.
    """
    if isinstance(base, np.float64):
        return np.float64(_libm.pow(base, exponent))
    return np.float32(_libm.powf(base, exponent))


@vectorize(["f4(f4,f4)", "f8(f8,f8)"])
def powers(base: float, exponent: float) -> float:
    """glibc `powf` / `pow`, elementwise; neither is a constant here that LLVM could rewrite."""
    return math.pow(base, exponent)


def load_compiler() -> None:
    """Load Numba now, where time is about to be taken: the first call of a function would."""
    exp(np.float32(0))


def running_sum(x: FloatArray) -> FloatArray:
    """The n partial sums in C's order: ((x0 + x1) + x2) + ..."""
    return np.add.accumulate(x)


# Numba returns float32 results as Python floats, hence the wrappers around the compiled loops.


@jit
def _total(x: FloatArray) -> Any:
    result = x.dtype.type(0)
    for value in x:
        result += value
    return result


def total(x: FloatArray) -> Any:
    """The sum in C's order, accumulated in the type of x; 0 for an empty array."""
    return x.dtype.type(_total(x))


@jit
def _total_of_squares(x: FloatArray) -> Any:
    result = x.dtype.type(0)
    for value in x:
        square = np.float64(value) * np.float64(value)
        result = x.dtype.type(np.float64(result) + square)
    return result


def total_of_squares(x: FloatArray) -> Any:
    """`float acc; acc += pow(x[i], 2)`: squares and additions in double, acc in x's type."""
    return x.dtype.type(_total_of_squares(x))


@jit
def _largest(x: FloatArray) -> Any:
    result = x[0]
    for value in x:
        if result < value:
            result = value
    return result


def largest(x: FloatArray) -> Any:
    """`m = x[0]; m = std::max(m, x[i])`: a NaN that comes first stays, a later NaN is ignored."""
    top = x.max()
    return x.dtype.type(_largest(x)) if np.isnan(top) else top


@jit
def first_largest(x: FloatArray) -> int:
    """The index of the first largest value: `if (x[i] > x[best]) best = i`. 0 for an empty x."""
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[best]:
            best = i
    return best


def to_int32(x: Float) -> int:
    """C `int(x)` as x86-64 converts it (cvttss2si).

    Towards zero; NaN and what does not fit become -2**31. C++ leaves those undefined, but llama.cpp
    relies on it: the sort puts -inf, through this, into its lowest bucket.
    """
    value = float(x)
    return int(value) if -(2.0**31) <= value < 2.0**31 else -(2**31)
