"""Call a user's function with the arguments that its signature names, and read its result.

The names of the arguments decide what they get: the parameters of the sampler, the tokens so far
(`TOKENS`), a generator or seed (`RANDOM`), and the logits for any other one. A function
without an argument for logits makes an object that has one.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError

TOKENS = frozenset({"tokens", "input_ids", "token_ids", "output_token_ids", "history", "past"})
RANDOM = frozenset({"rng", "generator", "seed"})
BATCHED = "input_ids"  # a logits processor of transformers takes rows
ROWS, ROW = 3, 1  # a batch, and the row of it that is judged

Library = ModuleType | Callable[[Any], Any] | None


class Misshapen(Exception):  # noqa: N818 - a result, which the report shows
    """The result of a function has a form that cannot be read."""


@dataclass(frozen=True)
class Result:
    """What a function leaves of n logits. stays: bool[n]. logits: float64[n]; None: unchanged.
    token: the selected one."""

    stays: NDArray[np.bool_]
    logits: NDArray[np.float64] | None = None
    token: int | None = None


@dataclass(frozen=True)
class Signature:
    """The arguments of a function: those without a default, in order, and the parameters of the
    sampler that it takes. all_parameters: it takes all parameters."""

    function: Callable[..., Any]
    first: tuple[str, ...]
    parameters: frozenset[str]
    all_parameters: bool

    @property
    def makes(self) -> bool:
        """Whether it takes no logits, and makes an object that does."""
        return inspect.isclass(self.function) or not {*self.first} - TOKENS - RANDOM

    @property
    def is_random(self) -> bool:
        return not RANDOM.isdisjoint(self.first)

    def lacks(self, parameters: Iterable[str]) -> list[str]:
        """Return the parameters that it cannot be given."""
        lacking = [name for name in parameters if name not in self.parameters]
        return [] if self.all_parameters else lacking

    def arguments(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in parameters.items() if self.all_parameters or k in self.parameters}


def signature_of(function: Callable[..., Any], parameters: Iterable[str]) -> Signature:
    """Return the arguments of a function. parameters: those of the sampler. Raises InputError if an
    argument gets no value."""
    name, names = name_of(function), [*parameters]
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InputError(name, "its arguments are unknown", "wrap it in a lambda") from None
    all_parameters = any(argument.kind == argument.VAR_KEYWORD for argument in arguments)
    needed = tuple(
        argument.name
        for argument in arguments
        if argument.default is argument.empty
        and argument.kind in (argument.POSITIONAL_ONLY, argument.POSITIONAL_OR_KEYWORD)
        and argument.name not in names
    )
    taken = frozenset(argument.name for argument in arguments) & {*names}
    unnamed = [argument for argument in needed if argument not in TOKENS | RANDOM]
    if len(unnamed) > 1 or (unnamed and inspect.isclass(function)):
        fix = f"wrap it: lambda logits, {', '.join(names)}: ..."
        raise InputError(name, f"the sampler has no parameter {unnamed[-1]!r}", fix)
    return Signature(function, needed, taken, all_parameters)


def name_of(function: Any) -> str:
    """Return the name of a function, or that of an object's class."""
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True)
class Caller:
    """Calls functions with arrays of a library: torch, jax.numpy, mlx.core, list; None: NumPy.
    batch: with a batch of `ROWS` rows, of which `ROW` is judged."""

    library: Library = None
    batch: bool = False

    def call(
        self,
        of: Signature,
        logits: NDArray[np.float32],
        past: list[int],
        parameters: Mapping[str, Any],
        rng: np.random.Generator | None,
    ) -> Result:
        """Return what a function leaves. logits: float32[n]. past: the tokens so far. Raises
        Misshapen, and whatever the function raises."""
        batch = self.batch or BATCHED in of.first
        rows = [logits[::-1], logits, logits + 1]
        arrays = {
            "tokens": np.array([past] * ROWS if batch else past, np.int64),
            "logits": np.stack(rows) if batch else logits.copy(),
        }
        values = [
            self.randomness(name, rng)
            if name in RANDOM
            else self.array(arrays["tokens" if name in TOKENS else "logits"])
            for name in of.first
        ]
        return read(of.function(*values, **of.arguments(parameters)), logits, batch)

    def array(self, values: NDArray[Any]) -> Any:
        if self.library is None:
            return values
        if self.library is list:
            return values.tolist()
        if isinstance(self.library, ModuleType):
            return (getattr(self.library, "asarray", None) or self.library.array)(values)
        return self.library(values)

    def randomness(self, name: str, rng: np.random.Generator | None) -> Any:
        """Return a generator of NumPy or torch, or a seed."""
        rng = np.random.default_rng(0) if rng is None else rng
        if name == "seed":
            return int(rng.integers(2**31))
        if name == "generator" and getattr(self.library, "__name__", "") == "torch":
            return self.library.Generator().manual_seed(int(rng.integers(2**31)))  # type: ignore[union-attr]
        return rng


def read(returned: Any, before: NDArray[np.float32], batch: bool) -> Result:
    """Read a result: logits, a mask of the tokens that stay, ids with their logits, or a token.
    before: the logits that were given, float32[n]. Raises Misshapen."""
    n = len(before)
    if isinstance(returned, tuple) and len(returned) == 2:
        ids, logits = (_row(np.asarray(part), batch) for part in returned)
        return _of_ids(ids, logits, before)
    values = np.asarray(returned)
    if values.dtype.kind not in "biuf":
        raise Misshapen(f"it returned {type(returned).__name__}, and not an array of numbers")
    values = _row(values, batch)
    if values.size == 1 and values.dtype.kind in "iu" and values.shape != (n,):
        return Result(np.ones(n, bool), token=int(values.reshape(())))
    if values.shape != (n,):
        raise Misshapen(f"it returned shape {values.shape} for {n} logits")
    if values.dtype == bool:
        return Result(values)
    values = values.astype(np.float64)
    return Result(values != -np.inf, values)


def _row(values: NDArray[Any], batch: bool) -> NDArray[Any]:
    if not batch:
        return values
    if values.ndim == 0 or len(values) != ROWS:
        raise Misshapen(f"it returned shape {values.shape} for a batch of {ROWS} rows")
    return np.asarray(values[ROW])


def _of_ids(ids: NDArray[Any], logits: NDArray[Any], before: NDArray[np.float32]) -> Result:
    n = len(before)
    if ids.shape != logits.shape or ids.ndim != 1:
        raise Misshapen(f"it returned ids of shape {ids.shape}, logits of shape {logits.shape}")
    ids = ids.astype(np.int64)
    if len(ids) and not (ids.min() >= 0 and ids.max() < n):
        raise Misshapen(f"it returned an id outside of 0..{n - 1}")
    if len(np.unique(ids)) < len(ids):
        raise Misshapen("it returned an id twice")
    stays, values = np.zeros(n, bool), before.astype(np.float64)
    stays[ids], values[ids] = True, logits
    return Result(stays, values)
