"""Parts that are no samplers and have no stage: the cache of tries, common_sampler, speculative
sampling, and the slots of sequences. The faults are in parts.toml."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.harness import faults
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.catalogue import read_faults
from sampler_parity.harness.faults.patch import Mutant, Patch
from sampler_parity.maintenance.selftest import sequences, speculative
from sampler_parity.reference import Candidates
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.trie import TrieCache


@dataclass(frozen=True)
class FaultyPart:
    """make: the faulty part, in the place of `right`. check: describes an error, or returns "". It
    must return "" for `right`, and for `make` a text that begins with the cause."""

    name: str
    make: Any
    right: Any
    check: Callable[[Any], str]
    cause: str
    fault: str


def check_models(cache: type[TrieCache[str]]) -> str:
    """Check that payloads of two models with the same leaves are two entries."""
    descriptors = [{"path": "action", "leaves": [{"name": "A", "tokens": [1, 2]}]}]
    tries = cache(lambda payload: payload.model_id)
    models = ["a", "b", "a"]
    texts = [json.dumps({"modelId": model, "descriptors": descriptors}) for model in models]
    answered = [tries.acquire(text)[1] for text in texts]
    return "" if answered == models else f"the tries of models {models} are those of {answered}"


class _Odd:
    """A grammar that takes odd tokens only."""

    name = "odd"

    def apply(self, cand: Candidates) -> None:
        cand.logits[cand.ids % 2 == 0] = -np.inf

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "_Odd":
        return _Odd()


def check_grammar(common_sampler: type[CommonSampler]) -> str:
    """Check that both ways of using a grammar write only tokens that it accepts."""
    rng = np.random.default_rng(0)
    for grammar_first in (True, False):
        params = SamplingParams(seed=1, temp=2.0, top_k=0, top_p=1.0, min_p=0.0)
        sampler = common_sampler(params, 16, grammar=_Odd())
        for _ in range(50):
            row = rng.normal(0, 2, 16).astype(np.float32)
            token = sampler.sample(Output(row), grammar_first)
            if token % 2 == 0:
                return f"token {token}, which the grammar refuses, first {grammar_first}"
            sampler.accept(token, True)
    return ""


_CHECKS: dict[str, Callable[[Any], str]] = {
    "harness/backends/reference_speculative.py:speculate": speculative.check_drafts,
    "harness/llama_cpp/sequences.py:Slots": sequences.check,
    "reference/pipelines/common_sampler.py:CommonSampler": check_grammar,
    "reference/speculative/one_draft.py:accepts": speculative.check_at_zero,
    "reference/speculative/one_draft.py:verify": speculative.check_verify,
    "reference/speculative/rounds.py:one_round": speculative.check_round,
    "reference/speculative/rounds.py:text": speculative.check_text,
    "reference/speculative/several_drafts.py:without_replacement": speculative.check_several,
    "reference/trie.py:TrieCache": check_models,
}


def _part(fault: Mutant) -> FaultyPart:
    """Return the part of a fault. Raises InputError if there is no check for it."""
    assert isinstance(fault.of, Patch)
    check = _CHECKS.get(fault.of.of)
    if check is None:
        fix = f"correct `of`: {', '.join(_CHECKS)}"
        raise InputError(fault.of.where, f"there is no check for {fault.of.of!r}", fix)
    return FaultyPart(fault.name, fault.make, fault.of.right(), check, fault.at, fault.fault)


PARTS = {fault.name: _part(fault) for fault in read_faults(faults.PARTS)}
