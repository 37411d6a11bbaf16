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
import functools
import math
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from sampler_parity.reference import platforms
from sampler_parity.reference.compiled import FloatArray as FloatArray
from sampler_parity.reference.compiled import jit, vectorize

Float: TypeAlias = np.floating[Any]

_BOTH = ["f4(f4)", "f8(f8)"]

F = TypeVar("F", bound=Callable[..., Any])
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def quiet(function: F) -> F:
    """Compute as C does: overflow, 0 / 0 and NaN warn of nothing. `np.errstate` takes as long as an
    operation on a short row, so only the outermost of nested calls enters it."""
    entered = np.errstate(all="ignore")(function)

    @functools.wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:
        if _quiet.get():
            return function(*arguments, **keywords)
        token = _quiet.set(True)
        try:
            return entered(*arguments, **keywords)
        finally:
            _quiet.reset(token)

    return cast(F, called)


@vectorize(_BOTH)
def _exp(x: float) -> float:
    return math.exp(x)


def exp(x: Any) -> Any:
    """Return glibc's `expf` / `exp`, elementwise; musl's `expf` on a platform that has it."""
    return _of_c_library(x, _exp(x))


# The floats, of all 2^32, for which glibc's expf with FMA and musl's differ (glibc's without FMA is
# musl's): the bits of x, and of musl's result. logf and log2f are the same, powf in 20,000,000.
_MUSL_EXPF = {0xC27C65D9: 0x11FA2992, 0x4202422F: 0x56FC9F1B}


def _of_c_library(x: Any, result: Any) -> Any:
    if platforms.current().libm != "musl" or np.asarray(result).dtype != np.float32:
        return result
    inputs = np.asarray(x, np.float32).view(np.uint32)
    fixed = np.array(result, np.float32)
    for bits, of_musl in _MUSL_EXPF.items():
        fixed.view(np.uint32)[inputs == bits] = of_musl
    return fixed[()]


@vectorize(_BOTH)
def log(x: float) -> float:
    """Return glibc's `logf` / `log`, elementwise; log(0) = -inf, log(x < 0) = NaN."""
    return math.log(x)


@vectorize(_BOTH)
def log2(x: float) -> float:
    """Return glibc's `log2f` / `log2`, elementwise."""
    return math.log2(x)


_C_LIBRARY = "ucrtbase" if sys.platform == "win32" else "libm.so.6"
_libm = ctypes.CDLL(ctypes.util.find_library("m") or _C_LIBRARY)
_libm.logf.restype = ctypes.c_float
_libm.logf.argtypes = [ctypes.c_float]
_libm.powf.restype = ctypes.c_float
_libm.powf.argtypes = [ctypes.c_float, ctypes.c_float]
_libm.pow.restype = ctypes.c_double
_libm.pow.argtypes = [ctypes.c_double, ctypes.c_double]


def log_of_few(x: FloatArray) -> FloatArray:
    """Return glibc's `logf` of a few float32, elementwise. To load Numba would take longer."""
    return np.array([_libm.logf(value) for value in x.tolist()], np.float32)


def power(base: Float, exponent: Float) -> Float:
    """Return glibc's `powf(base, exponent)`, or `pow` if base is float64.

    Called through ctypes and not compiled by Numba, because LLVM rewrites pow(2, x) to exp2(x),
    which is not the same number.
    """
    if isinstance(base, np.float64):
        return np.float64(_libm.pow(base, exponent))
    return np.float32(_libm.powf(base, exponent))


@vectorize(["f4(f4,f4)", "f8(f8,f8)"])
def powers(base: float, exponent: float) -> float:
    """Return glibc's `powf` / `pow`, elementwise, with no constant that LLVM could rewrite."""
    return math.pow(base, exponent)


def load_compiler() -> None:
    """Load Numba now, where time is about to be taken: the first call of a function would. A
    function of elements is no example: Numba wraps it anew in each process."""
    total(np.zeros(0, np.float32))


# Numba returns float32 results as Python floats, hence the wrappers around the compiled loops.


@jit
def _running_sum(x: FloatArray, sums: FloatArray) -> FloatArray:
    if len(x) > 0:
        result = sums.dtype.type(x[0])
        sums[0] = result
        for i in range(1, len(x)):
            result += x[i]
            sums[i] = result
    return sums


def running_sum(x: FloatArray, dtype: DTypeLike | None = None) -> FloatArray:
    """Return the n partial sums in C's order: ((x0 + x1) + x2) + ..., in dtype or x's type."""
    sums = np.empty(len(x), x.dtype if dtype is None else dtype)
    return _running_sum(x, sums)  # type: ignore[no-any-return]


@jit
def _total(x: FloatArray) -> Any:
    result = x.dtype.type(0)
    for value in x:
        result += value
    return result


def total(x: FloatArray) -> Any:
    """Return the sum in C's order, accumulated in the type of x; 0 for an empty array."""
    return x.dtype.type(_total(x))


def exp_of_difference(x: FloatArray, top: Any) -> FloatArray:
    """Return exp(x - top), elementwise."""
    result: FloatArray = _exp_of_difference(x, top)
    if platforms.current().libm != "glibc":
        with np.errstate(all="ignore"):
            result = _of_c_library(x - top, result)
    return result


def softmax(x: FloatArray, top: Any) -> FloatArray:
    """Return exp(x - top) / sum, with the sum in C's order."""
    if platforms.current().libm == "glibc":
        return _softmax(x, top)  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        result = exp_of_difference(x, top)
        result /= total(result)
    return result


@jit
def _exp_of_difference(x: FloatArray, top: Any) -> FloatArray:
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = math.exp(x[i] - top)
    return result


@jit
def _softmax(x: FloatArray, top: Any) -> FloatArray:
    result: FloatArray = _exp_of_difference(x, top)
    sum = x.dtype.type(0)
    for value in result:
        sum += value
    for i in range(len(x)):
        result[i] /= sum
    return result


@jit
def mask_below(x: FloatArray, threshold: Any) -> None:
    """Set x = -inf where x < threshold."""
    for i in range(len(x)):
        x[i] = -np.inf if x[i] < threshold else x[i]


@jit
def _total_of_squares(x: FloatArray, mean: Any) -> Any:
    result = x.dtype.type(0)
    for value in x:
        distance = np.float64(value - mean)
        result = x.dtype.type(np.float64(result) + distance * distance)
    return result


def total_of_squares(x: FloatArray, mean: Any = 0) -> Any:
    """Compute `float acc; acc += pow(x[i] - mean, 2)`. The difference and acc are in x's type;
    squares and additions are in double."""
    return x.dtype.type(_total_of_squares(x, x.dtype.type(mean)))


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c` elementwise; float32 is rounded once if the compiler contracts it."""
    if platforms.current().contraction == "none":
        return a * b + c
    return fused(a, b, c)


def add_products(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return `a * b + c * d`; if contracted, clang does not round a * b, GCC not c * d."""
    match platforms.current().contraction:
        case "clang":
            return fused(a, b, c * d)
        case "gcc":
            return fused(c, d, a * b)
    return a * b + c * d


@quiet
def fused(a: Any, b: Any, c: Any) -> Any:
    """Return fmaf, a * b + c rounded once.

    The product is exact in double, and the sum is rounded to odd; so the float is that of the exact
    sum (Boldo and Melquiond 2008).
    """
    kind = np.result_type(a, b, c)
    if kind != np.float32:
        return a * b + c
    product, addend = np.float64(a) * np.float64(b), np.float64(c)
    total = np.asarray(product + addend)
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    bits = total.view(np.int64)
    even = np.isfinite(total) & (lost != 0) & (bits & 1 == 0)
    odd = np.where(even, bits + np.where((lost > 0) == (total > 0), 1, -1), bits)
    return odd.view(np.float64).astype(np.float32)[()]


@jit
def _fused_total(x: FloatArray, y: FloatArray) -> Any:
    """Sum x[i] * y[i] with `fused`, step by step."""
    total = np.zeros(1)
    bits = total.view(np.int64)
    result = np.float32(0)
    for i in range(len(x)):
        product, addend = np.float64(x[i]) * np.float64(y[i]), np.float64(result)
        total[0] = product + addend
        part = total[0] - product
        lost = (product - (total[0] - part)) + (addend - part)
        if abs(total[0]) < np.inf and lost != 0 and bits[0] & 1 == 0:
            bits[0] += 1 if (lost > 0) == (total[0] > 0) else -1
        result = np.float32(total[0])
    return result


def total_of_products(x: FloatArray, y: FloatArray) -> Any:
    """Sum x[i] * y[i] in C's order; each step is rounded once if the compiler contracts it."""
    if platforms.current().contraction == "none" or x.dtype != np.float32:
        return total(x * y)
    return np.float32(_fused_total(x, y))


_LONG = 1024  # from here on a pass of NumPy's, with vector instructions, is the faster one


@jit
def _largest(x: FloatArray, first: Any) -> Any:
    result = first
    for value in x:
        if result < value:
            result = value
    return result


def largest(x: FloatArray, first: Any = None) -> Any:
    """Compute `m = first; m = std::max(m, x[i])`: a first NaN stays, a later NaN is ignored.

    first: x[0] if not given.
    """
    start = x[0] if first is None else first
    if len(x) < _LONG or np.isnan(top := x.max()):
        return x.dtype.type(_largest(x, start))
    return top if start < top or first is None else start


@jit
def _has_nan(x: FloatArray) -> bool:
    result = False
    for value in x:
        result |= value != value
    return result


def has_nan(x: FloatArray) -> bool:
    return bool(_has_nan(x) if len(x) < _LONG else np.isnan(x.max()))


@jit
def first_largest(x: FloatArray) -> int:
    """Return the first index of the maximum: `if (x[i] > x[best]) best = i`; 0 if x is empty."""
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[best]:
            best = i
    return best


def to_int32(x: Float) -> int:
    """Convert as C `int(x)`, towards zero.

    NaN and values out of range become -2**31 on x86-64 (cvttss2si); on arm64 NaN is 0, and the
    others become the nearest int. This is undefined in C++, but llama.cpp relies on it: its sort
    puts -inf into its lowest bucket in this way.
    """
    value = float(x)
    if platforms.current().conversion == "saturates":
        return 0 if math.isnan(value) else int(min(max(value, -(2.0**31)), 2.0**31 - 1))
    return int(value) if -(2.0**31) <= value < 2.0**31 else -(2**31)
