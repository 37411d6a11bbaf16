"""The tests of a kit: from the suites' cases, each call of a sampler, with what is right after it.

A vector is one call, because what is right depends on what the engine left before. A script is all
calls of one sampler in a case: apply, accept, reset and clone. The cases come from the suites, the
results from the reference and its judges.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.own_random import RANDOM
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.correct.stage import Held
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.suite.ids import suite_id
from sampler_parity.reference import UndefinedInputError
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937
from sampler_parity.vectors.accepted import (
    CHANGING,
    REMOVING,
    SELECTING,
    STEERING,
    Accepted,
    Input,
    accepted,
    token_alone,
)

SAMPLERS = (*REMOVING, *CHANGING, *SELECTING)
WITH_SCRIPTS = ("penalties", "dry", "xtc", "dist", *STEERING)
OF_SAMPLERS = [f"parity/{name}" for name in (*SAMPLERS, *STEERING)]  # each of one
OF_STATE = ["parity/state", "parity/scripts"]  # become scripts alone
SUITES = [*OF_SAMPLERS, *OF_STATE, "parity/capacities", "parity/outcomes"]
WITH_HISTORY = ("penalties", "dry")
MOST_CALLS = 40  # of a script
FLAGS = {
    "equal-logits": "Some logits are equal: which of them stays is the choice of a sort.",
    "behind-inf": "Some logits are -inf, as after a mask.",
    "not-finite": "Some logits are NaN or +inf, or all are -inf: only llama.cpp's result is known.",
    "sorted": "An earlier stage left the input in descending order.",
    "stale-order": "The input is marked as sorted, and is not: only llama.cpp's result is known.",
    "draws": "The sampler takes a random number: it is given as `uniform`.",
}


@dataclass(frozen=True)
class Vector:
    """id: of the case, with the numbers of its step and stage. p: that an earlier stage left.
    tokens: accepted before. uniform: that the sampler takes from its generator. exact: what
    llama.cpp leaves. right: what may be left."""

    id: str
    about: str
    sampler: str
    flags: Sequence[str]
    parameters: Mapping[str, Any]
    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    p: NDArray[np.float32]
    tokens: Sequence[int]
    uniform: float | None
    exact: Mapping[str, Any]
    right: Accepted | None

    def digest(self) -> str:
        """Return what makes two tests the same: all but their names."""
        words = (self.sampler, dict(self.parameters), [*self.tokens], self.uniform)
        content = self.ids.tobytes() + self.logits.tobytes() + self.p.tobytes()
        text = json.dumps([*words, "sorted" in self.flags], default=str)
        return hashlib.sha256(text.encode() + content).hexdigest()


@dataclass(frozen=True)
class Call:
    """Of an instance of a chain, or of its sampler at `stage`. of: the input of apply. tokens:
    accepted before."""

    what: Literal["apply", "accept", "reset", "clone"]
    on: int
    token: int = -1
    step: int = 0
    stage: int = 0
    of: Input | None = None
    tokens: Sequence[int] = ()
    vector: Vector | None = None


@dataclass(frozen=True)
class Script:
    """The calls of one sampler in a case. instances: how many are made before."""

    id: str
    about: str
    sampler: str
    parameters: Mapping[str, Any]
    seed: int | None
    instances: int
    calls: list[Call] = field(default_factory=list)

    def digest(self) -> str:
        calls = [(c.what, c.on, c.token, c.vector.digest() if c.vector else "") for c in self.calls]
        text = json.dumps([self.sampler, dict(self.parameters), self.seed, calls], default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def kit_of(suites: Sequence[str], profile: Profile, max_vocab: int) -> Iterator[Vector | Script]:
    """Yield the tests of suites, each once. Raises InputError for an unknown suite, and if no case
    becomes a test."""
    digests: set[str] = set()
    for path in find_suites([*suites]):
        suite = suite_id(path)
        samplers = {path.stem} if suite in OF_SAMPLERS else {*SAMPLERS, *STEERING}
        with phase(f"the vectors of {suite}"):
            for case in expand(path, profile):
                tests = _of_case(case, samplers) if _is_small(case, max_vocab) else ()
                for test in tests:
                    if suite in OF_STATE and isinstance(test, Vector):
                        continue
                    if (digest := test.digest()) not in digests:
                        digests.add(digest)
                        yield test
    if not digests:
        raise InputError(" ".join(suites), f"no case has at most {max_vocab} tokens")


def _is_small(case: Any, max_vocab: int) -> bool:
    return isinstance(case, StagesCase) and case.logits.n <= max_vocab and not case.n_draws


def _of_case(case: StagesCase, samplers: set[str]) -> Iterator[Vector | Script]:
    prepared = prepare(case)
    calls, scripts = [*calls_of(prepared)], defaultdict[int, list[Call]](list)
    for i, call in enumerate(calls):
        if call.of is None:
            for of_stage in scripts.values():
                of_stage.append(call)
            continue
        if call.of.sampler.name not in samplers or len(call.of.held.ids) == 0:
            continue
        test = _test(f"{case.id}/{call.step}.{call.stage}", case, call.of, call.tokens)
        if test.sampler not in STEERING:
            yield test
        if test.sampler not in WITH_SCRIPTS:
            continue
        if call.stage not in scripts:
            scripts[call.stage] = [c for c in calls[:i] if c.of is None]
        scripts[call.stage].append(replace(call, vector=test))
    for stage, of_stage in scripts.items():
        script = _script(prepared, stage, of_stage)
        if script is not None:
            yield script


def calls_of(prepared: Prepared) -> Iterator[Call]:
    """Follow a case on the reference, up to the first undefined input."""
    instances = [prepared.build() for _ in range(prepared.instances)]
    pasts = [[*prepared.case.past] for _ in instances]
    for on, past in enumerate(pasts):
        yield from (Call("accept", on, token) for token in past)
    for i, step in enumerate(prepared.steps, 1):
        for operation, index in step.before:
            if operation == "reset":
                instances[index].reset()
                pasts[index].clear()
            else:
                instances.append(instances[index].clone())
                pasts.append([*pasts[index]])
            yield Call("reset" if operation == "reset" else "clone", index)
        chain, past = instances[step.instance], pasts[step.instance]
        held = Held.of_row(prepared.rows[step.row])
        for j, (sampler, stage) in enumerate(zip(chain.samplers, prepared.chain, strict=True), 1):
            (parameters,) = stage.values()
            earlier, cand = deepcopy(sampler), held.candidates()  # a clone may lose state
            try:
                sampler.apply(cand)
            except UndefinedInputError:
                return
            if cand.selected >= len(cand):  # the selected token was removed
                return
            of = Input(held, earlier, dict(parameters), cand.copy())
            yield Call("apply", step.instance, step=i, stage=j, of=of, tokens=[*past])
            logits = cand.logits.astype(np.float64)
            held = Held(cand.ids, cand.logits, cand.p, logits, logits, cand.sorted, cand.selected)
        token = cand.token if step.accept == "selected" else step.accept
        if token is not None:
            chain.accept(token)
            past.append(token)
            yield Call("accept", step.instance, token)


def _script(prepared: Prepared, stage: int, calls: list[Call]) -> Script | None:
    """Return the calls up to the first after which the state of a right engine is unknown; None
    unless it has two calls of apply."""
    first = next(call.vector for call in calls if call.vector is not None)
    if prepared.case.separates_prompt:
        return None
    (parameters,) = prepared.chain[stage - 1].values()
    if parameters.get("seed") == DEFAULT_SEED:
        return None
    taken: list[Call] = []
    for call in calls[:MOST_CALLS]:
        if call.vector is not None and not _is_certain(call.vector):
            break
        taken.append(call)
    while taken and taken[-1].vector is None:  # nothing shows what the last ones did
        taken.pop()
    if sum(call.vector is not None for call in taken) < 2:
        return None
    return Script(
        id=f"{prepared.case.id}/{stage}",
        about=first.about,
        sampler=first.sampler,
        parameters=first.parameters,
        seed=parameters.get("seed"),
        instances=prepared.instances,
        calls=taken,
    )


def _is_certain(test: Vector) -> bool:
    """Return whether each right engine has the same state after a call."""
    return "not-finite" not in test.flags and (
        test.sampler not in STEERING or test.right is not None
    )


def _test(id: str, case: StagesCase, of: Input, tokens: Sequence[int]) -> Vector:
    held, want, name = of.held, of.want, of.sampler.name
    parameters = {k: v for k, v in of.parameters.items() if k not in ("seed", "vocab")}
    if name == "dry":
        parameters["seq_breakers"] = _breakers(of.sampler)
    if name == "mirostat":
        parameters["n_vocab"] = case.logits.n
    uniform = uniform_of(of)
    stale = held.sorted and bool((held.logits[1:] > held.logits[:-1]).any())
    flags = [
        flag
        for flag, holds in (
            ("equal-logits", len(np.unique(held.logits)) < len(held.logits)),
            ("behind-inf", bool((held.logits == -np.inf).any())),
            ("not-finite", not np.isfinite(held.logits.max())),
            ("sorted", held.sorted),
            ("stale-order", stale),
            ("draws", uniform is not None),
        )
        if holds
    ]
    judge = partial(token_alone, uniform=uniform) if name in STEERING else accepted
    exact = {
        "ids": want.ids,
        "logits": want.logits,
        "p": want.p,
        "sorted": want.sorted,
        "token": want.token if name in (*SELECTING, *STEERING) else None,
    }
    return Vector(
        id=id,
        about=case.why or case.description,
        sampler=name,
        flags=flags,
        parameters=parameters,
        ids=held.ids,
        logits=held.logits,
        p=held.p,
        tokens=[*tokens] if name in WITH_HISTORY else (),
        uniform=uniform,
        exact=exact,
        right=None if stale else judge(of),
    )


def _breakers(sampler: Any) -> list[list[int]]:
    """Return the sequence breakers of dry as tokens: the head first."""
    return [[head, *tail] for head, tails in sampler.breakers.items() for tail in tails]


class _Recorded(Mt19937):
    """Gives the numbers of a generator, and remembers them."""

    def __init__(self, rng: Mt19937) -> None:
        self.rng, self.numbers = rng, list[float]()

    def uniform_double(self) -> float:
        self.numbers.append(self.rng.uniform_double())
        return self.numbers[-1]

    def uniform_float(self) -> np.float32:
        value = self.rng.uniform_float()
        self.numbers.append(float(value))
        return value


def uniform_of(of: Input) -> float | None:
    """Return the number that the sampler takes from its generator: double; of xtc float."""
    if of.sampler.name not in RANDOM:
        return None
    sampler = deepcopy(of.sampler)
    recorded = _Recorded(sampler.rng)
    sampler.rng = recorded
    sampler.apply(of.held.candidates())
    assert len(recorded.numbers) < 2
    return recorded.numbers[0] if recorded.numbers else None
