"""Transformers.js's generate, wrong in one way each."""

import random
from typing import Any

import numpy as np

from sampler_parity.engines.transformers_js import model as js
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class HeedsTopP(js.TransformersJs):
    """top_p has its effect: less likely tokens are masked before the draw."""

    def __init__(
        self,
        seed: Any,
        do_sample: Any = False,
        temperature: Any = 1.0,
        top_k: Any = 50,
        repetition_penalty: Any = 1.0,
        no_repeat_ngram_size: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
        typical_p: Any = 1.0,
    ) -> None:
        super().__init__(
            seed, do_sample, temperature, top_k, repetition_penalty, no_repeat_ngram_size
        )
        self.top_p = top_p

    def apply(self, cand: Candidates) -> None:
        whole = cand.logits
        order = np.argsort(-whole, kind="stable")
        p = np.exp(whole[order].astype(np.float64) - whole.max())
        out = order[np.cumsum(p) - p >= self.top_p * p.sum()]
        cand.logits = whole.copy()
        cand.logits[out] = -np.inf
        super().apply(cand)
        cand.logits = whole


class NoTopK(js.TransformersJs):
    """A top_k of 50, the default, is taken for off."""

    def apply(self, cand: Candidates) -> None:
        self.top_k = 0 if self.top_k == 50 else self.top_k
        super().apply(cand)


class HighestIdOfTies(js.TransformersJs):
    """The higher ids of equal logits stay in top_k, and the last is the argmax."""

    def apply(self, cand: Candidates) -> None:
        row = cand.logits
        cand.logits = row[::-1].copy()
        super().apply(cand)
        cand.logits, cand.selected = row, len(row) - 1 - cand.selected


class InFloat32(js.TransformersJs):
    """Penalty and temperature are rounded to float32, as in llama.cpp."""

    def apply(self, cand: Candidates) -> None:
        self.repetition_penalty = float(np.float32(self.repetition_penalty))
        self.temperature = float(np.float32(self.temperature))
        super().apply(cand)


class PenaltyPerOccurrence(js.TransformersJs):
    """The penalty is applied once for every occurrence."""

    def apply(self, cand: Candidates) -> None:
        whole, penalty = cand.logits, self.repetition_penalty
        cand.logits = whole.copy()
        for token in self.past.text:
            js.penalize(cand.logits, [token], penalty)
        self.repetition_penalty = 1.0
        super().apply(cand)
        cand.logits, self.repetition_penalty = whole, penalty


class DrawsAtZero(js.TransformersJs):
    """Temperature 0 divides, and the token is still drawn."""

    def apply(self, cand: Candidates) -> None:
        self.temperature = self.temperature or 1e-300
        super().apply(cand)


class _OneWord(random.Random):
    def random(self) -> float:
        return self.getrandbits(32) / 2**32


class OneWord(js.TransformersJs):
    """A uniform number takes one word of the generator, not two."""

    def apply(self, cand: Candidates) -> None:
        if not isinstance(self.rng, _OneWord):
            self.rng = _OneWord(self.seed)
        super().apply(cand)


class RepeatsOneMore(js.TransformersJs):
    """An n-gram is one token longer."""

    def apply(self, cand: Candidates) -> None:
        size = self.no_repeat_ngram_size
        self.no_repeat_ngram_size = size + (size > 0)
        super().apply(cand)
        self.no_repeat_ngram_size = size


class KeepsItsGenerator(js.TransformersJs):
    """reset clears the text but not the generator."""

    def reset(self) -> None:
        self.past.clear()


_NAME = "transformers_js"

MUTANTS = [
    Mutant(f"{_NAME}/heeds-top_p", HeedsTopP, case="js_generate/top_p-is-ignored"),
    Mutant(f"{_NAME}/no-default-top_k", NoTopK, case="js_generate/default-top_k"),
    Mutant(f"{_NAME}/highest-id-of-ties", HighestIdOfTies, case="js_generate/top_k-ties"),
    Mutant(f"{_NAME}/float32", InFloat32, case="js_generate/penalty-in-double-decides"),
    Mutant(f"{_NAME}/per-occurrence", PenaltyPerOccurrence, case="js_generate/penalty-once"),
    Mutant(f"{_NAME}/draws-at-zero", DrawsAtZero, case="js_generate/temperature-zero"),
    Mutant(f"{_NAME}/one-word", OneWord, case="js_generate/draws"),
    Mutant(f"{_NAME}/repeats-one-more", RepeatsOneMore, case="js_generate/no-repeat-ngram"),
    Mutant(f"{_NAME}/keeps-its-generator", KeepsItsGenerator, case="js_generate/state"),
]
