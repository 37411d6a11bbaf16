"""Give an example for the picture of each sampler: a row, the parameters, and the history."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Vocab, build_chain
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.registry import ROWS

SHARES = (0.28, 0.20, 0.15, 0.11, 0.09, 0.07, 0.05, 0.03, 0.015, 0.005)  # of ten tokens


class Example(NamedTuple):
    """A sampler on one row.

    texts: the tokens of the small vocabulary `bpe`, where the sampler needs one; otherwise the
    tokens are 0 to 9. history: what was accepted before, tokens or indices of texts.
    """

    parameters: Mapping[str, Any] = {}
    history: Sequence[int] = ()
    texts: Sequence[str] = ()
    shares: Sequence[float] = SHARES


class Shown(NamedTuple):
    """A token of the picture, with its probabilities.

    after: 0 if the sampler masked or removed the token. place: in the order after the sampler; None
    if it was removed.
    """

    label: str
    before: float
    after: float
    place: int | None
    selected: bool

    @property
    def stays(self) -> bool:
        return self.after > 0


_TRIE = {"modelId": "m", "descriptors": [
    {"path": "a", "leaves": [{"name": "A", "tokens": [1, 2]}, {"name": "B", "tokens": [4, 5]}]}]
}  # fmt: skip
_GREETING = ("he", "hel", "hello", "the", "in", "and", " world", "<|endoftext|>")
_GREETING_SHARES = (0.26, 0.12, 0.09, 0.18, 0.14, 0.10, 0.07, 0.04)

EXAMPLES: Mapping[str, Example] = {
    "adaptive_p": Example({"target": 0.1, "seed": 1}),
    "dist": Example({"seed": 3}),
    "dry": Example({"dry_multiplier": 0.8, "dry_allowed_length": 2}, history=(1, 2, 0, 1, 2)),
    "grammar": Example({"grammar_str": 'root ::= "hello"'}, (), _GREETING, _GREETING_SHARES),
    "grammar_lazy_patterns": Example(
        {"grammar_str": 'root ::= "the" (" world" | "and")', "trigger_patterns": ["the"]},
        (4, 3), _GREETING, _GREETING_SHARES,
    ),
    "greedy": Example(),
    "infill": Example({}, (), _GREETING, (0.33, 0.16, 0.09, 0.24, 0.08, 0.05, 0.03, 0.02)),
    "logit_bias": Example({"logit_bias": [[0, "-inf"], [6, 2.0]]}),
    "min_p": Example({"p": 0.25}),
    "mirostat": Example({"seed": 1, "tau": 1.5}),
    "mirostat_v2": Example({"seed": 1, "tau": 1.5}),
    "penalties": Example(
        {"penalty_last_n": 4, "penalty_repeat": 1.3, "penalty_freq": 0.4}, history=(0, 0, 2, 5)
    ),
    "softmax": Example({}, shares=tuple(reversed(SHARES))),
    "tail_free": Example({"z": 0.9}),
    "temp": Example({"temp": 0.5}),
    "temp_ext": Example({"temp": 1.0, "delta": 0.5}),
    "token_trie": Example({"trie_descriptor_json": _TRIE, "mode": 0}),
    "top_k": Example({"k": 4}),
    "top_n_sigma": Example({"n": 1.0}),
    "top_p": Example({"p": 0.75}),
    "typical_p": Example({"p": 0.6}),
    "xtc": Example({"p": 1.0, "t": 0.1, "seed": 1}),
}  # fmt: skip


def example_of(name: str) -> Example:
    """Return the example of a sampler; without one in EXAMPLES, its smallest setting."""
    return EXAMPLES.get(name) or Example(ROWS[name].smallest)


def applied(name: str, example: Example) -> list[Shown]:
    """Return the tokens of an example in the order of the row, before and after the sampler."""
    vocab = read_vocab(vocab_path("bpe")) if example.texts else None
    ids = _ids(example, vocab)
    chain = build_chain([{name: _parameters(name, example)}], n_vocab=len(ids), vocab=vocab)
    for index in example.history:
        chain.accept(ids[index])
    candidates = _row(example, ids)
    chain.apply(candidates)
    after, order = _shares(candidates), candidates.ids.tolist()
    labels = example.texts or [str(token) for token in ids]
    return [
        Shown(
            label.strip(),
            before,
            after.get(token, 0.0),
            order.index(token) if token in order else None,
            token == candidates.token,
        )
        for label, before, token in zip(labels, example.shares, ids, strict=True)
    ]


def _parameters(name: str, example: Example) -> dict[str, Any]:
    """Return the parameters as the sampler takes them: a payload as text, "-inf" as a number."""
    given = dict(example.parameters)
    if name == "token_trie":
        given["trie_descriptor_json"] = json.dumps(given["trie_descriptor_json"])
    if name == "logit_bias":
        given["logit_bias"] = [[token, float(bias)] for token, bias in given["logit_bias"]]
    return given


def _ids(example: Example, vocab: Vocab | None) -> list[int]:
    if vocab is None:
        return list(range(len(example.shares)))
    return [_id(text, vocab) for text in example.texts]


def _id(text: str, vocab: Vocab) -> int:
    return vocab.texts.index(text.replace(" ", "Ġ"))


def _row(example: Example, ids: Sequence[int]) -> Candidates:
    """Return candidates with these ids, and logits with these probabilities."""
    logits = np.array([math.log(share) for share in example.shares], np.float32)
    return Candidates(np.array(ids, np.int32), logits, np.zeros_like(logits))


def _shares(candidates: Candidates) -> dict[int, float]:
    """Return the probabilities of the tokens that a later stage can still choose."""
    logits = [float(logit) for logit in candidates.logits]
    weights = [math.exp(logit - max(logits)) for logit in logits]
    tokens = zip(candidates.ids.tolist(), weights, strict=True)
    return {token: weight / sum(weights) for token, weight in tokens}
