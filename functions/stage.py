"""A user's function as a stage of a chain: its result is put into the candidates of llama.cpp.

A row of logits has no order and no probabilities, and -inf in it may be a token that is removed or
one that was -inf before. Order, p, and what becomes of a token of -inf, are the reference's.
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.functions.calling import Caller, Misshapen, Result, Signature, signature_of
from sampler_parity.harness.checks.stages.own_random import let_act
from sampler_parity.harness.errors import Unsupported
from sampler_parity.reference import Candidates, Sampler
from sampler_parity.reference.registry import REFERENCE_SAMPLERS

REMOVING = ("top_k", "top_p", "min_p", "typical_p", "xtc")
MASKING = ("top_n_sigma",)
CHANGING = ("temp", "temp_ext", "logit_bias")
HISTORY = ("penalties", "dry")
SELECTING = ("greedy", "dist")
SUPPORTED = (*REMOVING, *MASKING, *CHANGING, *HISTORY, *SELECTING)
_BY_ID = {*HISTORY, "logit_bias"}  # they get the row of all tokens


def parameters_of(sampler: str) -> dict[str, Any]:
    """Return the parameters that a function of a sampler may have, with their defaults; `...` for
    one that every case has."""
    parameters = inspect.signature(REFERENCE_SAMPLERS[sampler]).parameters.values()
    return {
        parameter.name: ... if parameter.default is parameter.empty else parameter.default
        for parameter in parameters
        if parameter.name not in ("vocab", "seed", "n_vocab")
    }


def maker(
    sampler: str, function: Signature, caller: Caller, seed: int, own_random: bool
) -> Callable[..., Sampler]:
    """Return what builds the stage, with the arguments of the reference's sampler."""
    right = REFERENCE_SAMPLERS[sampler]
    signature, names = inspect.signature(right), parameters_of(sampler)

    def make(*positional: Any, **by_name: Any) -> FunctionStage:
        bound = signature.bind(*positional, **by_name).arguments
        values = {name: bound.get(name, default) for name, default in names.items()}
        if lacks := [name for name in function.lacks(names) if values[name] != names[name]]:
            raise Unsupported(f"it takes no {', '.join(lacks)}")
        return FunctionStage(
            right(*positional, **by_name), values, function, caller, seed, own_random
        )

    vars(make)["__signature__"] = signature
    return make


class FunctionStage:
    """right: the reference's sampler in the same state."""

    def __init__(
        self,
        right: Any,
        parameters: Mapping[str, Any],
        function: Signature,
        caller: Caller,
        seed: int,
        own_random: bool,
    ) -> None:
        self.own_random = own_random
        self.name, self.right, self.parameters = str(right.name), right, parameters
        self.function, self.caller, self.seed = function, caller, seed
        self._begin()

    def _begin(self) -> None:
        self.past: list[int] = []
        self.rng = np.random.default_rng(self.seed)
        self.object: Any = None
        if self.function.makes:
            self.object = self.caller.make(self.function, self.parameters, self.rng)
        self._bind()

    def _bind(self) -> None:
        self.step = self.function
        if self.function.makes:
            self.step = signature_of(getattr(self.object, "apply", self.object), ())

    def accept(self, token: int) -> None:
        self.right.accept(token)
        self.past.append(token)
        if hasattr(self.object, "accept"):
            self.object.accept(token)

    def reset(self) -> None:
        self.right.reset()
        instance = self.object
        if hasattr(instance, "reset"):
            self.past.clear()
            instance.reset()
        else:
            self._begin()

    def clone(self) -> "FunctionStage":
        twin = copy.copy(self)
        twin.right, twin.past = self.right.clone(), [*self.past]
        twin.rng = copy.deepcopy(self.rng)
        instance = self.object
        twin.object = instance.clone() if hasattr(instance, "clone") else copy.deepcopy(instance)
        twin._bind()
        return twin

    def apply(self, cand: Candidates) -> None:
        before = cand.copy()
        result = self.call(before)
        if self.name == "xtc" and self.own_random:
            acts = not (result.stays | (before.logits == -np.inf)).all()
            let_act(self.right, acts)
        self.right.apply(cand)
        if self.name in SELECTING:
            _select(result, cand)
        elif result.token is not None:
            raise Misshapen(f"it returned the token {result.token}, and {self.name} selects none")
        elif self.name in REMOVING:
            _remove(self.name, result, before, cand)
        else:
            _change(result, before, cand)

    def call(self, before: Candidates) -> Result:
        """Return what the function leaves of candidates, by their places. Raises Misshapen."""
        if len(before) == 0:
            return Result(np.ones(0, bool))
        parameters, row = dict(self.parameters), before.logits
        if self.name == "logit_bias":
            parameters["logit_bias"] = _effective(parameters["logit_bias"], before)
        if self.name in _BY_ID:
            row = np.full(int(before.ids.max()) + 1, -np.inf, np.float32)
            row[before.ids] = before.logits
        if self.object is not None:
            parameters = {}
        result = self.caller.call(self.step, row, self.past, parameters, self.rng)
        if self.name in _BY_ID:
            logits = None if result.logits is None else result.logits[before.ids]
            return Result(result.stays[before.ids], logits, result.token)
        if result.token is not None and not 0 <= result.token < len(before):
            raise Misshapen(f"it selected {result.token} of {len(before)} logits")
        if result.token is not None:
            return Result(result.stays, token=int(before.ids[result.token]))
        return result


def _effective(biases: Any, before: Candidates) -> list[Any]:
    """Return the biases without those that have no effect: of a token that stands at another place
    than its id llama.cpp adds the first alone, and a row shows no places."""
    n, ids = len(before), before.ids
    in_place = {t for t, _ in biases if 0 <= t < n and ids[t] == t}
    first = {t: i for i, (t, _) in reversed([*enumerate(biases)])}
    return [pair for i, pair in enumerate(biases) if pair[0] in in_place or first[pair[0]] == i]


def _select(result: Result, cand: Candidates) -> None:
    if result.token is None:
        raise Misshapen("it selected no token: return an integer")
    cand.selected = int(np.flatnonzero(cand.ids == result.token)[0])


def _places(before: Candidates, ids: NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of ids among the candidates before."""
    order = np.argsort(before.ids, kind="stable")
    return order[np.searchsorted(before.ids, ids, sorter=order)]


def _same_logits(result: Result, before: Candidates, stays: NDArray[np.bool_]) -> None:
    """Raise Misshapen where a filter changes a logit by more than a format can."""
    if result.logits is None:
        return
    with np.errstate(all="ignore"):
        away = abs(result.logits - before.logits) > 0.01 * abs(before.logits)
    changed = np.flatnonzero(stays & away)
    if len(changed):
        i = int(changed[0])
        has = f"logit {i} was {before.logits[i]:.6g} and is {result.logits[i]:.6g}"
        raise Misshapen(f"{has}: a filter changes no logit, and a removed token must be -inf")


def _remove(name: str, result: Result, before: Candidates, cand: Candidates) -> None:
    """Let those stay that the function leaves, in the order of the reference. A token of -inf stays
    as in the reference: a row does not show it, and no draw depends on it."""
    right = _places(before, cand.ids)
    expected = np.zeros(len(before), bool)
    expected[right] = True
    stays = np.where(before.logits == -np.inf, expected, result.stays)
    _same_logits(result, before, stays)
    places = right[stays[right]]
    more = np.flatnonzero(stays & ~expected)
    if len(more):
        ascending = bool((np.diff(places) > 0).all())
        places = np.concatenate([places, more])
        if cand.sorted:
            places = places[np.argsort(-before.logits[places], kind="stable")]
        elif ascending:
            places.sort()
    p = before.p.copy()
    if len(more) and not np.array_equal(cand.p, before.p[right], equal_nan=True):
        with np.errstate(all="ignore"):  # those that the reference lacks, too
            weights = np.exp(before.logits.astype(np.float64) - before.logits.max())
            p = (weights / weights.sum()).astype(np.float32)
    else:
        p[right] = cand.p
    with np.errstate(all="ignore"):
        lost = np.exp(before.logits - before.logits.max(initial=-np.inf)) == 0
    if name == "typical_p" and lost.any():  # llama.cpp's order is of NaN: no other is worse
        places = places[np.argsort(p[places], kind="stable")]
    cand.ids, cand.p = before.ids[places], p[places]
    cand.logits = _logits(result, before)[places]


def _change(result: Result, before: Candidates, cand: Candidates) -> None:
    """Put the function's values in the order of the reference."""
    right = _places(before, cand.ids)
    has_p = not np.array_equal(cand.p, before.p[right], equal_nan=True)
    cand.logits = np.where(result.stays, _logits(result, before), -np.inf).astype(np.float32)[right]
    if has_p:  # of the new logits, as temp_ext leaves them
        cand.softmax(sort=False)


def _logits(result: Result, before: Candidates) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return before.logits if result.logits is None else result.logits.astype(np.float32)
