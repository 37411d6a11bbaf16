"""Functions that Numba compiles when they are first called, and the arrays that sorts work on.

Loading Numba takes longer than everything else at the start of a process. The worker of another
engine, and a report, need the reference's names and types but none of its arithmetic.

Sorts work on keys, and on the position that each key had before.
"""

import functools
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Compiled:
    """A function; `compile` makes machine code of it."""

    def __init__(
        self, function: Callable[..., Any], compile: Callable[[Callable[..., Any]], Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._compile = function, compile

    @functools.cached_property
    def _machine_code(self) -> Any:
        return self._compile(self._function)

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for it where another compiled function calls this one."""
        return self._machine_code._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return self._machine_code(*arguments)


def jit(function: Callable[..., Any]) -> Any:
    """Compile with Numba: dividing by zero gives inf or NaN as in C; processes share the code."""

    def compile(function: Callable[..., Any]) -> Any:
        load_numba()
        from numba import njit

        def compiled(cache: bool) -> Any:
            result = njit(cache=cache, error_model="numpy")(function)
            if cache:
                _read_code_alone(result._cache)
            return result

        return _cached(compiled)

    return Compiled(function, compile)


def jit_of_integers(function: Callable[..., Any]) -> Any:
    """Compile a function of whole numbers. Without Numba, as in an engine's environment, return it
    as it is: in Python the numbers are the same. That does not hold for floats."""
    return jit(function) if find_spec("numba") else function


def vectorize(signatures: list[str]) -> Callable[[Callable[..., Any]], Any]:
    """Compile an elementwise function for these types ("f4(f4)": float32 to float32)."""

    def compile(function: Callable[..., Any]) -> Any:
        load_numba()
        from numba import vectorize

        return _cached(lambda cache: vectorize(signatures, cache=cache)(function).ufunc)

    return lambda function: Compiled(function, compile)


def _cached(compile: Callable[[bool], Any]) -> Any:
    """Compile with Numba's cache. Where it has no folder to write, as in a read-only installation
    of a user without a home, each process compiles for itself."""
    try:
        return compile(True)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return compile(False)


def load_numba() -> None:
    """Load Numba without SciPy's linear algebra, which takes as long as the rest. Numba imports it
    only to see that it is there, and nothing here calls it."""
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    hidden: dict[str, Any] = {"scipy.linalg": None}
    sys.modules |= hidden
    try:
        from numba.np import arraymath
    finally:
        del sys.modules["scipy.linalg"]
    arraymath._HAVE_BLAS = True
    _know_plain_arrays()


def _know_plain_arrays() -> None:
    """Skip Numba's check whether a plain array of numbers is masked. The check loads numpy.ma for
    each new type: a tenth of the time to the first result."""
    from numba import types
    from numba.extending import typeof_impl
    from numba.np.numpy_support import from_dtype, map_layout

    asking = typeof_impl.dispatch(np.ndarray)
    plain = frozenset(map(np.dtype, "?bBhHiIlLqQfd"))

    def type_of(array: NDArray[Any], context: Any) -> Any:
        if type(array) is not np.ndarray or array.dtype not in plain:
            return asking(array, context)
        readonly = not array.flags.writeable
        return types.Array(from_dtype(array.dtype), array.ndim, map_layout(array), readonly)

    typeof_impl.register(np.ndarray, type_of)


def _read_code_alone(cache: Any) -> None:
    """Let a cache of Numba's read machine code without the registries of all that Numba can
    compile, which take a tenth of the time to the first result. A compilation loads them itself."""
    from numba.core.runtime import rtsys

    def load(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)  # allocation of arrays, which the code calls
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    cache.load_overload = load


FloatArray: TypeAlias = NDArray[np.floating[Any]]
Order: TypeAlias = NDArray[np.int32]
Edges: TypeAlias = NDArray[np.int64]  # of parts that lie side by side


@jit
def parts_of(edges: Edges) -> list[tuple[int, int]]:
    """Begin and end of each part in which there is something to sort."""
    n = len(edges) - 1
    return [(edges[i], edges[i + 1]) for i in range(n) if edges[i + 1] - edges[i] > 1]
