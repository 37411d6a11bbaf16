"""Generate the tokens that a server must give for a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.oracle.chains import Chains
from sampler_parity.programs.servers.oracle.decoder import ModelLogits, TextLogits
from sampler_parity.programs.servers.oracle.model import KnownModel
from sampler_parity.programs.servers.oracle.samplers import LENGTHS, SamplerFactory, TokenSampler
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class ExpectedText:
    """The tokens of a text, and the part of the text that the server returns."""

    tokens: tuple[int, ...]
    text: bytes


@dataclass(frozen=True)
class Oracle:
    """The predictor of a server: its sampler and its model. chains: the parameters to ask
    with, by name. per_chain: requests of a chain."""

    sampler: SamplerFactory
    model: KnownModel
    chains: Chains
    per_chain: int

    def predict(
        self,
        logits: ModelLogits,
        prompt: Sequence[int],
        parameters: Mapping[str, Any],
        answer: Answer,
    ) -> ExpectedText:
        """Return the text that an answer must be. Raises BackendFailure."""
        vocab = self.model.vocab
        guess = vocab.tokenize(answer.text.encode()) if answer.tokens is None else answer.tokens
        text_logits = TextLogits(logits, prompt, guess[: length_of(parameters) - 1])
        sampler = self.sampler(parameters, prompt, vocab)
        return generate(sampler, text_logits, vocab, parameters, answer.tokens)


def length_of(parameters: Mapping[str, Any]) -> int:
    """Return how many tokens a request asks for."""
    return int(next(parameters[name] for name in LENGTHS if name in parameters))


def generate(
    sampler: TokenSampler,
    text_logits: TextLogits,
    vocab: Vocab,
    parameters: Mapping[str, Any],
    answered: Sequence[int] | None = None,
) -> ExpectedText:
    """Generate up to the length, the end of the text, or a stop word. answered: the tokens of the
    server, where it names them. The first that differs is the last."""
    tokens: list[int] = []
    text = b""
    stops = [word.encode() for word in parameters.get("stop") or ()]
    while len(tokens) < length_of(parameters):
        token = sampler.sample(np.array(text_logits.after(tokens)))
        tokens.append(token)
        if token in vocab.eog:
            break
        text += vocab.piece(token, special=False)
        ends = [at for word in stops if (at := text.find(word)) >= 0]
        text = text[: min(ends)] if ends else text
        if ends or (answered is not None and [*answered[: len(tokens)]] != tokens):
            break
    return ExpectedText(tuple(tokens), text)
