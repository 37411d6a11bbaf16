"""What is no sampler and has no stage, wrong in one way: the cache of tries, common_sampler,
speculative sampling, and the slots of sequences."""

import json

import numpy as np

from sampler_parity.harness.faults import (
    sequences,
    speculative,
    speculative_drafts,
    speculative_texts,
)
from sampler_parity.harness.faults.part import Part
from sampler_parity.reference import Candidates
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.trie import TrieCache, cache_key


class KeyWithoutModel(TrieCache[str]):
    """The key of a payload leaves its model out."""

    def key(self, text: str) -> str:
        return cache_key(json.dumps(json.loads(text)["descriptors"]))


def check_models(cache: type[TrieCache[str]]) -> str:
    """Payloads of two models with the same leaves are two entries."""
    descriptors = [{"path": "action", "leaves": [{"name": "A", "tokens": [1, 2]}]}]
    tries = cache(lambda payload: payload.model_id)
    models = ["a", "b", "a"]
    texts = [json.dumps({"modelId": model, "descriptors": descriptors}) for model in models]
    answered = [tries.acquire(text)[1] for text in texts]
    return "" if answered == models else f"the tries of models {models} are those of {answered}"


class ResampledWithoutGrammar(CommonSampler):
    """Where the grammar refuses a token, another is drawn without it."""

    def sample(self, output: Output, grammar_first: bool = False) -> int:
        token = self._pass(output, grammar_first)
        return token if grammar_first or self._fits(token) else self._pass(output, False)


class RefusedTokenKept(CommonSampler):
    """The grammar is asked about the token, and its answer left unheard."""

    def sample(self, output: Output, grammar_first: bool = False) -> int:
        return self._pass(output, grammar_first)


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
    """Both ways of using a grammar write what it takes, and nothing else."""
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


PARTS = {
    part.name: part
    for part in (
        Part("token_trie/key-without-model", KeyWithoutModel, TrieCache, check_models),
        Part("grammar/resampled-without-it", ResampledWithoutGrammar, CommonSampler, check_grammar),
        Part("grammar/refused-token-kept", RefusedTokenKept, CommonSampler, check_grammar),
        *speculative.PARTS,
        *speculative_drafts.PARTS,
        *speculative_texts.PARTS,
        *sequences.PARTS,
    )
}
