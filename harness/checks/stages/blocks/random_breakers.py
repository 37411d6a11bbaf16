"""Random sequence breakers of dry over a vocabulary's own pieces, and histories that contain them.

A breaker is a stretch of several pieces, cut anywhere. So it has several tokens, begins or ends
inside a token, and overlaps others. A history contains some breakers whole and some without their
end, and the text around them repeats.
"""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.grid import NamedBlock, one_of
from sampler_parity.harness.checks.stages.block import Script, StagesCase
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Vocab
from sampler_parity.reference.samplers.dry import breaker_sequences

_BASES = [1.0, 1.2, 1.75, 4.0, 1e10, 3e38]  # of the last ones the exponent is limited: 3, 0
_OF_SEVERAL_BYTES = ["é", "…", "𝄞"]
_SCRIPTS: list[Script] = ["plain", "plain", "reset", "clone", "interleaved"]


class RandomBreakers(NamedBlock):
    """count cases, the vocabularies in turn. StagesCase i depends on seed + shift and i alone."""

    id: str = Field(pattern=r"^[a-z0-9_\-]+$")
    count: int = Field(ge=1)
    seed: int = Field(ge=0)
    vocabs: list[str] = Field(min_length=1)
    quick: int = Field(default=0, ge=0)

    def items(self, quick: bool, shift: int) -> Iterator[StagesCase]:
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self._case(self.seed + shift, i)

    def _case(self, seed: int, index: int) -> StagesCase:
        rng = np.random.default_rng([seed, index])
        name = self.vocabs[index % len(self.vocabs)]
        vocab = read_vocab(vocab_path(name))
        breakers = random_breakers(rng, vocab)
        dry = {
            "dry_multiplier": round(float(rng.uniform(0.1, 2)), 3),
            "dry_base": one_of(rng, _BASES),
            "dry_allowed_length": int(rng.integers(0, 3)),
            "dry_penalty_last_n": one_of(rng, [8, 64, 64]),
            "seq_breakers": breakers,
        }
        return StagesCase(
            **self.about(f"{seed}-{index:05}"),
            chain=[{"dry": dry}, {"dist": {"seed": index}}],
            logits=GeneratedLogits(family="normal", n=len(vocab), seed=seed + index),
            history=random_history(rng, vocab, breakers),
            steps=int(rng.integers(1, 5)),
            script=one_of(rng, _SCRIPTS),
            vocab=name,
        )


def random_breakers(rng: np.random.Generator, vocab: Vocab) -> list[str | None]:
    """Return one to four stretches of pieces, sometimes also the empty one, None, and the first
    again; or a single one that is longer than llama.cpp reads."""
    breakers: list[str | None] = [_stretch(rng, vocab) for _ in range(int(rng.integers(1, 4)))]
    if rng.random() < 0.3:
        breakers.append(breakers[0])
    if rng.random() < 0.2:
        breakers.insert(0, one_of(rng, ["", None]))
    return [_long(rng, vocab)] if rng.random() < 0.2 else breakers


def _stretch(rng: np.random.Generator, vocab: Vocab) -> str:
    pieces = _pieces(vocab)
    longer = [piece for piece in pieces if len(piece) > 1]
    text = "".join(
        one_of(rng, longer if rng.random() < 0.7 else pieces)
        for _ in range(int(rng.integers(1, 5)))
    )
    begin = int(rng.integers(0, min(3, len(text))))
    return text[begin : max(begin + 1, len(text) - int(rng.integers(0, 3)))]


def _long(rng: np.random.Generator, vocab: Vocab) -> str:
    """Return more than the 40 bytes that dry reads, some of them of longer characters, in less than
    the 20 tokens that it reads: one limit would hide the other."""
    words = [piece for piece in _pieces(vocab) if len(vocab.tokenize(piece.encode())) == 1]
    ends = ["", "", *_OF_SEVERAL_BYTES]
    longest = sorted(words, key=len)[-4:]
    return "".join(one_of(rng, longest) + one_of(rng, ends) for _ in range(20))[:60]


def _pieces(vocab: Vocab) -> list[str]:
    """Return the pieces that a person could type."""
    texts = (word.decode(errors="replace") for word in vocab.detokenized)
    return [text for text in texts if text and text.isprintable() and "\ufffd" not in text]


def random_history(rng: np.random.Generator, vocab: Vocab, breakers: list[str | None]) -> list[int]:
    """Return a repeated phrase with a breaker's head and its tail, whole or cut, in between."""
    heads = breaker_sequences([b for b in breakers if b], vocab)
    sequences = sorted([head, *tail] for head, tails in heads.items() for tail in tails)
    phrase: list[int] = rng.choice(len(vocab), size=int(rng.integers(2, 6))).tolist()
    history: list[int] = []
    for _ in range(int(rng.integers(2, 5))):
        sequence = one_of(rng, sequences)
        history += phrase
        history += sequence[: None if rng.random() < 0.7 else -1]
    return history + phrase[: int(rng.integers(1, len(phrase) + 1))]
