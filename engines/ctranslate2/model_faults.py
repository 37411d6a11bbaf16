"""CTranslate2's sampling, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.ctranslate2 import model as ct2
from sampler_parity.engines.ctranslate2.model import Ctranslate2, Row
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class PenaltyDivides(Ctranslate2):
    """A logit below zero is divided, too, and rises."""

    def processed(self, logits: Row) -> Row:
        scores = super().processed(np.abs(logits))
        return np.where(logits < 0, -scores, scores)


class PromptDrawsNothing(Ctranslate2):
    """Forced tokens of a text take no random number."""

    def apply(self, cand: Candidates) -> None:
        text, scores = self.text, self.processed(cand.logits)
        reads, self.reads_text = self.reads_text, False
        whole, cand.logits, self.text = cand.logits, scores, []
        super().apply(cand)
        cand.logits, self.text, self.reads_text = whole, text, reads


class NgramOneLonger(Ctranslate2):
    """A banned n-gram is longer by a token."""

    def processed(self, logits: Row) -> Row:
        size = self.no_repeat_ngram_size
        self.no_repeat_ngram_size = size + 1 if size else 0
        scores = super().processed(logits)
        self.no_repeat_ngram_size = size
        return scores


class GreedyTakesLast(Ctranslate2):
    """Greedy takes the last of equal largest logits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.greedy:
            cand.selected = len(cand) - 1 - int(self.processed(cand.logits)[::-1].argmax())


class OneLeftDrawsNothing(Ctranslate2):
    """A token that top_p leaves alone takes no random number."""

    def apply(self, cand: Candidates) -> None:
        before = self.rng.clone()
        super().apply(cand)
        _, p = ct2.survivors(cand.logits, self.top_k, self.top_p, self.temperature)
        if not self.greedy and (p > 0).sum() == 1:
            self.rng = before


class TopPReaches(Ctranslate2):
    """A token stays if the sum before it equals top_p, too."""

    def apply(self, cand: Candidates) -> None:
        top_p = self.top_p
        self.top_p = np.nextafter(top_p, np.float32(1))
        super().apply(cand)
        self.top_p = top_p


class SeedNotReset(Ctranslate2):
    """reset does not restart the random numbers."""

    def reset(self) -> None:
        rng: Any = getattr(self, "rng", None)
        super().reset()
        self.rng = rng or self.rng


_NAME = Ctranslate2.name

MUTANTS = [
    Mutant(f"{_NAME}/penalty-divides", PenaltyDivides, "HF #2302", case=f"{_NAME}/penalty-below"),
    Mutant(f"{_NAME}/prompt-draws-nothing", PromptDrawsNothing, case=f"{_NAME}/penalty-takes"),
    Mutant(f"{_NAME}/ngram-one-longer", NgramOneLonger, case=f"{_NAME}/ngram-two"),
    Mutant(f"{_NAME}/greedy-takes-last", GreedyTakesLast, case=f"{_NAME}/greedy-first"),
    Mutant(f"{_NAME}/one-left-draws-nothing", OneLeftDrawsNothing, case=f"{_NAME}/top_p-draws"),
    Mutant(f"{_NAME}/top_p-reaches", TopPReaches, case=f"{_NAME}/top_p-before"),
    Mutant(f"{_NAME}/seed-not-reset", SeedNotReset, case=f"{_NAME}/sampling/flat-V17-reset"),
]
