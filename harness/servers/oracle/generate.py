"""The tokens that a server must give for a request: the reference's pipeline of its engine, on the
logits of the same model.

Source: server_task::params_from_json_cmpl of llama.cpp's tools/server at v0.5.0; Llama.generate of
llama-cpp-python 0.3.36. llama-server's samplers are told the prompt, its grammar is not; those of
llama-cpp-python are told nothing of it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.llama_cpp_python.model import LlamaCppPython
from sampler_parity.harness.servers.oracle.decoder import Followed
from sampler_parity.reference import Candidates
from sampler_parity.reference.pipelines.common_chain import (
    SamplingParams,
    ban_eog,
    samplers_from_names,
)
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output
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
_NOT_SAMPLING = {"n_predict", "max_tokens", "stop", "grammar", "n_probs", "post_sampling_probs"}


class Sampling(Protocol):
    """A pipeline that has been told the prompt, as its server does."""

    def sample(self, row: NDArray[np.float32]) -> int: ...  # and it accepts the token


Pipeline = Callable[[Mapping[str, Any], Sequence[int], Vocab], Sampling]


@dataclass(frozen=True)
class Expected:
    """text: as far as it is given out. ended: limit, eos, word, or other: it went on."""

    tokens: tuple[int, ...]
    text: bytes
    ended: str


def expected(
    pipeline: Pipeline,
    request: Mapping[str, Any],
    length: int,
    text_of: Followed,
    vocab: Vocab,
    answered: Sequence[int] | None = None,
) -> Expected:
    """Up to `length` tokens, the end of the text, or a stop word. answered: the tokens of the
    server, where it names them: the first that is another is the last."""
    sampling = pipeline(request, text_of.prompt, vocab)
    tokens: list[int] = []
    text = b""
    stops = [word.encode() for word in request.get("stop") or ()]
    while True:
        token = sampling.sample(np.array(text_of.after(tokens)))
        tokens.append(token)
        if token in vocab.eog:
            return Expected(tuple(tokens), text, "eos")
        text += vocab.piece(token, special=False)
        places = [place for word in stops if (place := text.find(word)) >= 0]
        if places:
            return Expected(tuple(tokens), text[: min(places)], "word")
        if len(tokens) == length:
            return Expected(tuple(tokens), text, "limit")
        if answered is not None and [*answered[: len(tokens)]] != tokens:
            return Expected(tuple(tokens), text, "other")


@dataclass(frozen=True)
class LlamaServer:
    sampler: CommonSampler

    def sample(self, row: NDArray[np.float32]) -> int:
        token = self.sampler.sample(Output(row))
        self.sampler.accept(token, is_generated=True)
        return token

    def left(self) -> dict[int, float]:
        """The p of each token that the last one was drawn from."""
        left = self.sampler.get_candidates()
        return dict(zip(left.ids.tolist(), left.p.tolist(), strict=True))


def llama_server(request: Mapping[str, Any], prompt: Sequence[int], vocab: Vocab) -> LlamaServer:
    text = request.get("grammar")
    grammar = Grammar(text, "root", vocab=vocab) if text else None
    sampler = CommonSampler(params_of(request, vocab), len(vocab), vocab, grammar=grammar)
    for token in prompt:
        sampler.accept(token, is_generated=False)
    return LlamaServer(sampler)


def params_of(request: Mapping[str, Any], vocab: Vocab) -> SamplingParams:
    """What llama-server makes of a request without mistakes."""
    fields = {
        _FIELDS.get(name, name): value
        for name, value in request.items()
        if name not in _NOT_SAMPLING
    }
    if "samplers" in fields:
        fields["samplers"] = samplers_from_names(fields["samplers"])
    if "dry_sequence_breakers" in fields:
        fields["dry_sequence_breakers"] = tuple(fields["dry_sequence_breakers"])
    biases = request.get("logit_bias", ())
    fields["logit_bias"] = tuple((t, -math.inf if bias is False else bias) for t, bias in biases)
    return ban_eog(SamplingParams(**fields), vocab)


@dataclass(frozen=True)
class _LlamaCppPython:
    sampler: LlamaCppPython
    bias: Mapping[int, float]

    def sample(self, row: NDArray[np.float32]) -> int:
        for token, bias in self.bias.items():
            row[token] += np.float32(bias)
        candidates = Candidates.from_logits(row)
        self.sampler.apply(candidates)
        assert candidates.token is not None
        self.sampler.accept(candidates.token)
        return candidates.token


def llama_cpp_python(request: Mapping[str, Any], prompt: Sequence[int], vocab: Vocab) -> Sampling:
    """Its server's defaults are those of `Llama`, but for max_tokens."""
    fields = {k: v for k, v in request.items() if k not in (*_NOT_SAMPLING, "logit_bias")}
    bias = {int(token): value for token, value in (request.get("logit_bias") or {}).items()}
    return _LlamaCppPython(LlamaCppPython(n_vocab=len(vocab), **fields), bias)
