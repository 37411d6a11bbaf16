"""The tests of a kit: each stage of the suites' cases, with what is right after it.

A test is one stage long, because what is right depends on what the engine left before. The cases
come from the suites, the results from the reference and its judges.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.correct.stage import Held
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.suite.ids import suite_id
from sampler_parity.reference import UndefinedInputError
from sampler_parity.vectors.accepted import CHANGING, REMOVING, SELECTING, Accepted, Input, accepted

SAMPLERS = (*REMOVING, *CHANGING, *SELECTING)
SUITES = [f"parity/{sampler}" for sampler in SAMPLERS]  # a suite of a sampler has tests of it alone
WITH_HISTORY = ("penalties", "dry")
FLAGS = {
    "equal-logits": "Some logits are equal: which of them stays is the choice of a sort.",
    "behind-inf": "Some logits are -inf, as after a mask.",
    "sorted": "The input is in descending order, as an earlier stage left it.",
    "draws": "The sampler takes a random number: it is given as `uniform`.",
}


@dataclass(frozen=True)
class Vector:
    """id: of the case, with the numbers of its step and stage. tokens: accepted before. uniforms:
    of a sampler that draws. exact: what llama.cpp leaves. right: what may be left."""

    id: str
    about: str
    sampler: str
    flags: Sequence[str]
    parameters: Mapping[str, Any]
    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    tokens: Sequence[int]
    uniforms: Sequence[float]
    exact: Mapping[str, Any]
    right: Accepted | None

    def digest(self) -> str:
        """Return what makes two tests the same: all but their names."""
        words = (self.sampler, dict(self.parameters), [*self.tokens], [*self.uniforms])
        content = self.ids.tobytes() + self.logits.tobytes()
        text = json.dumps([*words, sorted({*self.flags} & {"sorted"})], default=str)
        return hashlib.sha256(text.encode() + content).hexdigest()


def vectors_of(suites: Sequence[str], profile: Profile, max_vocab: int) -> Iterator[Vector]:
    """Yield the tests of suites, each once. Raises InputError for an unknown suite, and if no case
    becomes a test."""
    digests: set[str] = set()
    for path in find_suites([*suites]):
        samplers = {path.stem} if path.stem in SAMPLERS else {*SAMPLERS}
        with phase(f"the vectors of {suite_id(path)}"):
            for case in expand(path, profile):
                for test in _of_case(case, samplers) if _is_small(case, max_vocab) else ():
                    if (digest := test.digest()) not in digests:
                        digests.add(digest)
                        yield test
    if not digests:
        raise InputError(" ".join(suites), f"no case has at most {max_vocab} tokens")


def _is_small(case: Any, max_vocab: int) -> bool:
    return isinstance(case, StagesCase) and case.logits.n <= max_vocab and not case.n_draws


def _of_case(case: StagesCase, samplers: set[str]) -> Iterator[Vector]:
    """Follow a case on the reference, and yield the stages of these samplers up to the first
    undefined input."""
    prepared = prepare(case)
    instances = [prepared.build() for _ in range(prepared.instances)]
    pasts = [[*case.past] for _ in instances]
    for i, step in enumerate(prepared.steps):
        for operation, index in step.before:
            if operation == "reset":
                instances[index].reset()
                pasts[index].clear()
            else:
                instances.append(instances[index].clone())
                pasts.append([*pasts[index]])
        chain, past = instances[step.instance], pasts[step.instance]
        held = Held.of_row(prepared.rows[step.row])
        for j, (sampler, stage) in enumerate(zip(chain.samplers, prepared.chain, strict=True)):
            (parameters,) = stage.values()
            earlier, cand = sampler.clone(), held.candidates()
            try:
                sampler.apply(cand)
            except UndefinedInputError:
                return
            if cand.selected >= len(cand):  # the selected token was removed
                return
            if sampler.name in samplers:
                name = f"{case.id}/{i + 1}.{j + 1}"
                of = Input(held, earlier, dict(parameters), cand.copy())
                tokens = past if sampler.name in WITH_HISTORY else ()
                test = _test(name, case, of, tokens)
                if test is not None:
                    yield test
            logits = cand.logits.astype(np.float64)
            held = Held(cand.ids, cand.logits, cand.p, logits, logits, cand.sorted, cand.selected)
        accepted_token = cand.token if step.accept == "selected" else step.accept
        if accepted_token is not None:
            chain.accept(accepted_token)
            past.append(accepted_token)


def _test(id: str, case: StagesCase, of: Input, tokens: Sequence[int]) -> Vector | None:
    held, want, name = of.held, of.want, of.sampler.name
    if len(held.ids) == 0 or np.isnan(held.logits).any() or not np.isfinite(held.logits).any():
        return None
    parameters = {k: v for k, v in of.parameters.items() if k not in ("seed", "vocab")}
    if name == "dry":
        parameters["seq_breakers"] = _breakers(of.sampler)
    uniforms = _uniforms(of)
    right = accepted(of)
    flags = [
        flag
        for flag, holds in (
            ("equal-logits", len(np.unique(held.logits)) < len(held.logits)),
            ("behind-inf", bool((held.logits == -np.inf).any())),
            ("sorted", held.sorted),
            ("draws", bool(uniforms)),
        )
        if holds
    ]
    exact = {
        "ids": want.ids,
        "logits": want.logits,
        "token": want.token if name in SELECTING else None,
    }
    return Vector(
        id=id,
        about=case.why or case.description,
        sampler=name,
        flags=flags,
        parameters=parameters,
        ids=held.ids,
        logits=held.logits,
        tokens=[*tokens],
        uniforms=uniforms,
        exact=exact,
        right=right,
    )


def _breakers(sampler: Any) -> list[list[int]]:
    """Return the sequence breakers of dry as tokens: the head first."""
    return [[head, *tail] for head, tails in sampler.breakers.items() for tail in tails]


def _uniforms(of: Input) -> list[float]:
    """Return the numbers that the sampler takes from its generator: double for dist, float for
    xtc."""
    if of.sampler.name == "dist":
        return [float(of.sampler.rng.clone().uniform_double())]
    if of.sampler.name == "xtc":
        return [float(of.sampler.rng.clone().uniform_float())]
    return []
