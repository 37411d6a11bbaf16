"""ONNX Runtime GenAI's search, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.onnxruntime_genai import model as genai
from sampler_parity.engines.onnxruntime_genai.model import OnnxruntimeGenai, Row
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class PenaltyDivides(OnnxruntimeGenai):
    """A logit below zero is divided, too, and rises."""

    def processed(self, logits: Row) -> Row:
        below = logits < 0
        scores = super().processed(np.abs(logits))
        return np.where(below, -scores, scores)


class LengthOneMore(OnnxruntimeGenai):
    """The end is banned for one token more."""

    def processed(self, logits: Row) -> Row:
        self.min_length += 1
        scores = super().processed(logits)
        self.min_length -= 1
        return scores


class NgramOneLonger(OnnxruntimeGenai):
    """A banned n-gram is longer by a token."""

    def processed(self, logits: Row) -> Row:
        size = self.no_repeat_ngram_size
        self.no_repeat_ngram_size = size + 1 if size else 0
        scores = super().processed(logits)
        self.no_repeat_ngram_size = size
        return scores


class GreedyTakesLast(OnnxruntimeGenai):
    """Greedy takes the last of equal largest logits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.greedy:
            scores = self.processed(cand.logits)
            cand.selected = len(scores) - 1 - int(scores[::-1].argmax())


class DrawsAlways(OnnxruntimeGenai):
    """Greedy, too, takes a random number: nothing shows but in the next draw."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        top_k = min(self.top_k, len(cand))  # greedy does not look at it
        if len(genai.survivors(cand.logits, top_k, self.top_p, self.temperature)[0]) == 1:
            self.rng.words(2)


class ZeroIsOff(OnnxruntimeGenai):
    """Without a top_k a top_p of 0 cuts nothing."""

    def apply(self, cand: Candidates) -> None:
        top_p = self.top_p
        self.top_p = top_p if top_p or self.top_k else np.float32(1)
        super().apply(cand)
        self.top_p = top_p


class SumsWhatIsBehind(OnnxruntimeGenai):
    """Without a top_k the mass is added up, not bounded: top-p as others have it."""

    def apply(self, cand: Candidates) -> None:
        top_k = self.top_k
        self.top_k = len(cand) if top_k == 0 and len(cand) > 1 else top_k
        super().apply(cand)
        self.top_k = top_k


class RandomSeed(OnnxruntimeGenai):
    """reset does not restart the random numbers."""

    def reset(self) -> None:
        rng: Any = getattr(self, "rng", None)
        super().reset()
        self.rng = rng or self.rng


_NAME = OnnxruntimeGenai.name

MUTANTS = [
    Mutant(f"{_NAME}/penalty-divides", PenaltyDivides, "HF #2302", case=f"{_NAME}/penalty-below"),
    Mutant(f"{_NAME}/length-one-more", LengthOneMore, case=f"{_NAME}/min_length-is-reached"),
    Mutant(f"{_NAME}/ngram-one-longer", NgramOneLonger, case=f"{_NAME}/ngram-two"),
    Mutant(f"{_NAME}/greedy-takes-last", GreedyTakesLast, case=f"{_NAME}/greedy-first"),
    Mutant(f"{_NAME}/draws-always", DrawsAlways, case=f"{_NAME}/one-survivor"),
    Mutant(f"{_NAME}/zero-is-off", ZeroIsOff, case=f"{_NAME}/top_p-zero-without"),
    Mutant(f"{_NAME}/sums-what-is-behind", SumsWhatIsBehind, case=f"{_NAME}/nucleus-bounds"),
    Mutant(f"{_NAME}/seed-not-reset", RandomSeed, case=f"{_NAME}/sampling/flat-V17-reset"),
]
