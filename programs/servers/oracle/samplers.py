"""Build the sampler that a server makes of a request.

llama-server's is here, another's in engines/NAME/oracle.py. Its samplers accept the prompt, its
grammar does not. Source: server_task::params_from_json_cmpl of llama.cpp's tools/server at v0.5.0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.pipelines.common_chain import (
    SamplingParams,
    ban_eog,
    samplers_from_names,
)
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.vocab import Vocab

# llama-server's names where they are not the fields of SamplingParams
_FIELDS = {
    "temperature": "temp",
    "typical_p": "typ_p",
    "repeat_penalty": "penalty_repeat",
    "repeat_last_n": "penalty_last_n",
    "presence_penalty": "penalty_present",
    "frequency_penalty": "penalty_freq",
}
LENGTHS = ("n_predict", "max_tokens")
NOT_SAMPLING = {*LENGTHS, "stop", "grammar", "n_probs", "post_sampling_probs"}


class TokenSampler(Protocol):
    """Draw a text's tokens one after the other. It has accepted the prompt as its server does."""

    def sample(self, row: NDArray[np.float32]) -> int: ...  # and it accepts the token


SamplerFactory = Callable[[Mapping[str, Any], Sequence[int], Vocab], TokenSampler]


@dataclass(frozen=True)
class LlamaServerSampler:
    sampler: CommonSampler

    def sample(self, row: NDArray[np.float32]) -> int:
        token = self.sampler.sample(Output(row))
        self.sampler.accept(token, is_generated=True)
        return token

    def candidates(self) -> dict[int, float]:
        """Return the p of each token that the last one was drawn from."""
        candidates = self.sampler.get_candidates()
        return dict(zip(candidates.ids.tolist(), candidates.p.tolist(), strict=True))


def llama_server(
    parameters: Mapping[str, Any],
    prompt: Sequence[int],
    vocab: Vocab,
    grammar: Sampler | None = None,
) -> LlamaServerSampler:
    """Build the sampler of llama-server. grammar: in the place of the request's text of one."""
    if text := parameters.get("grammar"):
        grammar = Grammar(text, "root", vocab=vocab)
    sampler = CommonSampler(params_of(parameters, vocab), len(vocab), vocab, grammar=grammar)
    for token in prompt:
        sampler.accept(token, is_generated=False)
    return LlamaServerSampler(sampler)


def params_of(parameters: Mapping[str, Any], vocab: Vocab) -> SamplingParams:
    """Translate the parameters of a request without mistakes, as llama-server does."""
    fields = {_FIELDS.get(k, k): v for k, v in parameters.items() if k not in NOT_SAMPLING}
    if "samplers" in fields:
        fields["samplers"] = samplers_from_names(fields["samplers"])
    if "dry_sequence_breakers" in fields:
        fields["dry_sequence_breakers"] = tuple(fields["dry_sequence_breakers"])
    biases = parameters.get("logit_bias", ())
    fields["logit_bias"] = tuple((t, -math.inf if bias is False else bias) for t, bias in biases)
    return ban_eog(SamplingParams(**fields), vocab)
