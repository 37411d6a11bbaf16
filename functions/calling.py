"""Call a user's function with the arguments that its signature names, and read its result.

The names of the arguments decide what they get: the parameters of the sampler, the tokens so far
(`TOKENS`), a generator or seed (`RANDOM`), and the logits for any other one without a default. A
function without an argument for logits makes an object that has one.
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
IN_BATCH = 3  # rows of a batch: the judged one is in each of its places in turn

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
    """The arguments of a function, in order, with their kinds; those with a default that nothing
    here has a value for are left out. logits: the name of the one that gets them, or "".
    all_parameters: it takes all parameters of the sampler by name."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    logits: str
    all_parameters: bool

    @property
    def makes(self) -> bool:
        """Whether it takes no logits, and makes an object that does."""
        return not self.logits

    @property
    def is_random(self) -> bool:
        return not RANDOM.isdisjoint(self.arguments)

    def lacks(self, parameters: Iterable[str]) -> list[str]:
        """Return the parameters that it cannot be given."""
        lacking = [name for name in parameters if name not in self.arguments]
        return [] if self.all_parameters else lacking

    def __call__(self, values: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
        """Call the function. values: of the arguments that are no parameters of the sampler."""
        by_place, by_name = list[Any](), dict[str, Any]()
        for name, kind in self.arguments.items():
            value = parameters[name] if name in parameters else values[name]
            if kind == inspect.Parameter.POSITIONAL_ONLY:
                by_place.append(value)
            else:
                by_name[name] = value
        if self.all_parameters:
            by_name |= {k: v for k, v in parameters.items() if k not in self.arguments}
        return self.function(*by_place, **by_name)


def signature_of(function: Callable[..., Any], parameters: Iterable[str]) -> Signature:
    """Return the arguments of a function. parameters: those of the sampler. Raises InputError if an
    argument gets no value."""
    name, names = name_of(function), [*parameters]
    if not callable(function):
        raise InputError(name, f"is no function: {function!r}"[:100], "pass a function or a class")
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InputError(name, "its arguments are unknown", "wrap it in a lambda") from None
    kinds = inspect.Parameter
    all_parameters = any(argument.kind == kinds.VAR_KEYWORD for argument in declared)
    single = [a for a in declared if a.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL)]
    usable = {*names} | TOKENS | RANDOM
    unknown = [a.name for a in single if a.name not in usable and a.default is kinds.empty]
    if len(unknown) > 1 or (unknown and inspect.isclass(function)):
        fix = f"wrap it: lambda {', '.join(['logits', *names])}: ..."
        raise InputError(name, f"the sampler has no parameter {unknown[-1]!r}", fix)
    arguments = {a.name: a.kind for a in single if a.name in {*usable, *unknown}}
    return Signature(function, arguments, "".join(unknown), all_parameters)


def name_of(function: Any) -> str:
    """Return the name of a function, or that of an object's class."""
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True)
class Caller:
    """Calls functions with arrays of a library: torch, jax.numpy, mlx.core, list; None: NumPy.
    batch: with a batch of `IN_BATCH` rows, of which one is judged."""

    library: Library = None
    batch: bool = False

    def make(self, of: Signature, parameters: Mapping[str, Any], rng: np.random.Generator) -> Any:
        """Return the object that a function makes."""
        return of({name: self.randomness(name, rng) for name in RANDOM}, parameters)

    def call(
        self,
        of: Signature,
        logits: NDArray[np.float32],
        past: list[int],
        parameters: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> Result:
        """Return what a function leaves. logits: float32[n]. past: the tokens so far. Raises
        Misshapen, and whatever the function raises."""
        row, tokens = None, np.array(past, np.int64)
        rows, histories = logits.copy(), tokens
        if self.batch or BATCHED in of.arguments:
            row = (len(logits) + len(past)) % IN_BATCH
            rows, histories = among_others(logits, tokens, row)
        values = {name: self.array(histories) for name in TOKENS & {*of.arguments}}
        values |= {name: self.randomness(name, rng) for name in RANDOM & {*of.arguments}}
        values[of.logits] = self.array(rows)
        return read(of(values, parameters), logits, row)

    def array(self, values: NDArray[Any]) -> Any:
        if self.library is None:
            return values
        if self.library is list:
            return values.tolist()
        if isinstance(self.library, ModuleType):
            return (getattr(self.library, "asarray", None) or self.library.array)(values)
        return self.library(values)

    def randomness(self, name: str, rng: np.random.Generator) -> Any:
        """Return a generator of NumPy or torch, or a seed."""
        if name == "seed":
            return int(rng.integers(2**31))
        if name == "generator" and getattr(self.library, "__name__", "") == "torch":
            return self.library.Generator().manual_seed(int(rng.integers(2**31)))  # type: ignore[union-attr]
        return rng


def among_others(
    logits: NDArray[np.float32], tokens: NDArray[np.int64], row: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a batch in which these logits are one of the rows, and the tokens of each."""
    with np.errstate(all="ignore"):
        rows = [np.roll(logits, 1) * np.float32(0.5), logits[::-1] * np.float32(2)]
    histories = [(tokens[::-1] + 1) % len(logits), np.zeros_like(tokens)]
    rows.insert(row, logits)
    histories.insert(row, tokens)
    return np.stack(rows), np.stack(histories)


def read(returned: Any, before: NDArray[np.float32], row: int | None) -> Result:
    """Read a result: logits, a mask of the tokens that stay, ids with their logits, or a token.
    before: the logits that were given, float32[n]. row: its number in a batch. Raises
    Misshapen."""
    n = len(before)
    if isinstance(returned, tuple) and len(returned) == 2:
        ids, logits = (_row(np.asarray(part), row) for part in returned)
        return _of_ids(ids, logits, before)
    if returned is None:
        raise Misshapen("it returned None: return the array, also if it is changed in place")
    values = np.asarray(returned)
    if values.dtype.kind not in "biuf":
        raise Misshapen(f"it returned {type(returned).__name__}, and not an array of numbers")
    values = _row(values, row)
    if values.size == 1 and values.dtype.kind in "iu" and values.shape != (n,):
        return Result(np.ones(n, bool), token=int(values.reshape(())))
    if values.shape != (n,):
        raise Misshapen(f"it returned shape {values.shape} for {n} logits")
    if values.dtype == bool:
        return Result(values)
    if values.dtype.kind in "iu":
        raise Misshapen(f"it returned {values.dtype}: return bool for a mask, float for logits")
    logits = values.astype(np.float64)
    return Result(logits != -np.inf, logits)


def _row(values: NDArray[Any], row: int | None) -> NDArray[Any]:
    if row is None:
        return values
    if values.ndim == 0 or len(values) != IN_BATCH:
        raise Misshapen(f"it returned shape {values.shape} for a batch of {IN_BATCH} rows")
    return np.asarray(values[row])


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
