"""Random operations on the compiled trie and on its model in Python, in this process.

`python -m tests.attack.native.trie_model LIBRARY SEED TIMES`. `native.trie` runs it under a
sanitizer.
"""

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp import compiled_trie
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.token_trie import TokenTrie
from tests.support.tries import as_json, without_prefixes

VOCABULARIES = ("spm", "bpe")
MOST = 12  # samplers that live at a time


@dataclass
class Pair:
    """tokens: of the payload's leaves."""

    model: TokenTrie
    pointer: int
    tokens: list[int]


class Tries:
    """Pairs of a compiled sampler and its model. n_vocab: tokens are below it."""

    def __init__(self, tries: Any, library: Libllama, rng: random.Random, n_vocab: int) -> None:
        self.tries, self.library, self.rng, self.n_vocab = tries, library, rng, n_vocab
        self.pairs: list[Pair] = []
        self.cache = tries.token_trie_cache_init()

    def operate(self) -> None:
        """Do one operation. Raises AssertionError if the two differ."""
        pair = self.rng.choice(self.pairs) if self.pairs else None
        what = self.rng.choice(
            ["make", "apply", "apply", "accept", "accept", "reset", "clone", "free"]
        )
        if pair is None or what == "make":
            self._make()
        elif what == "apply":
            self._apply(pair)
        elif what == "accept":
            token = self.rng.choice([*pair.tokens, self.rng.randrange(self.n_vocab)])
            pair.model.accept(token)
            self.library.llama_sampler_accept(pair.pointer, token)
        elif what == "reset":
            pair.model.reset()
            self.library.llama_sampler_reset(pair.pointer)
        elif what == "clone":
            twin = self.library.llama_sampler_clone(pair.pointer)
            self.pairs.append(Pair(pair.model.clone(), twin, pair.tokens))
        if (pair is not None and what == "free") or len(self.pairs) > MOST:
            self.free(self.rng.randrange(len(self.pairs)))

    def _make(self) -> None:
        near = [self.rng.randrange(self.n_vocab) for _ in range(6)]
        spans = [self._leaves(near) for _ in range(self.rng.randrange(1, 4))]
        text = as_json([{"path": str(i), "leaves": leaves} for i, leaves in enumerate(spans)])
        if self.rng.random() < 0.2:
            text = self._damaged(text)
        options: dict[str, Any] = {
            "path": self.rng.choice(["", "0", "1"]),
            "compact": self.rng.random() < 0.5,
            "across": self.rng.random() < 0.5,
            "n_vocab": self.rng.choice([self.n_vocab, self.n_vocab // 2]),
        }
        mode = self.rng.randrange(2)
        try:
            model = TokenTrie(text, mode, **options)
        except ChainError:
            model = None
        given = options | {"path": options["path"].encode(), "cache": self.cache}
        try:
            pointer = self.tries.init(text, mode, **given)
        except ChainError:
            pointer = None
        assert (model is None) == (pointer is None), text
        if model is not None and pointer is not None:
            tokens = [token for leaves in spans for leaf in leaves for token in leaf["tokens"]]
            self.pairs.append(Pair(model, pointer, tokens))

    def _leaves(self, near: list[int]) -> list[dict[str, Any]]:
        lengths = [self.rng.randrange(1, 5) for _ in range(self.rng.randrange(1, 9))]
        spellings = [tuple(self.rng.choice(near) for _ in range(n)) for n in lengths]
        return [
            {"name": leaf.name, "tokens": list(leaf.tokens)} for leaf in without_prefixes(spellings)
        ]

    def _damaged(self, text: str) -> str:
        at = self.rng.randrange(len(text))
        return self.rng.choice(
            [text[:at], text[:at] + self.rng.choice('{}[]",:-9\\x') + text[at + 1 :]]
        )

    def _apply(self, pair: Pair) -> None:
        n = self.rng.choice([1, 2, 7, 8, 9, self.n_vocab])
        ids = np.arange(n, dtype=np.int32)
        if n < self.n_vocab:
            some = {*self.rng.sample(range(self.n_vocab), n), self.rng.choice(pair.tokens)}
            ids = np.array(self.rng.sample(sorted(some), n), np.int32)
        logits = np.array(
            [self.rng.choice([-np.inf, self.rng.random()]) for _ in range(n)], np.float32
        )
        cand = Candidates.from_logits(logits.copy())
        cand.ids = ids.copy()
        pair.model.apply(cand)
        native = NativeCandidates(logits)
        native.data["id"] = ids
        self.library.apply(pair.pointer, native.array)
        left = native.current()
        assert left["id"].tolist() == cand.ids.tolist()
        assert left["logit"].tolist() == cand.logits.tolist()
        assert native.array.selected == cand.selected

    def free(self, at: int) -> None:
        self.library.llama_sampler_free(self.pairs.pop(at).pointer)

    def close(self) -> None:
        while self.pairs:
            self.free(0)
        self.tries.token_trie_cache_free(self.cache)


def main(path: str, seed: int, times: int) -> None:
    library = Libllama(default_folder())
    with patch.object(compiled_trie, "compiled", lambda source: Path(path)):
        tries = compiled_trie.CompiledTrie()
    for name in VOCABULARIES:
        both = Tries(
            tries, library, random.Random(f"{seed} {name}"), len(read_vocab(vocab_path(name)))
        )
        for _ in range(times):
            both.operate()
        both.close()
    print(f"{times * len(VOCABULARIES):,} operations as the model's")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
