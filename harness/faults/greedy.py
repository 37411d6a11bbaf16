"""greedy, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.greedy import Greedy


class LastOfEqualWins(Greedy):
    """Of equal largest logits the last is selected, not the first."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = len(cand) - 1 - int(np.argmax(cand.logits[::-1]))


class LowestIdWins(Greedy):
    """Of equal largest logits the lowest id is selected, not the candidate that stands first."""

    def apply(self, cand: Candidates) -> None:
        best = np.flatnonzero(cand.logits == cand.logits.max())
        cand.selected = int(best[cand.ids[best].argmin()]) if len(best) else 0


class ElementZero(Greedy):
    """Element 0 is selected, as if the candidates were always sorted."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = 0


class NanWins(Greedy):
    """A NaN counts as the largest logit."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = int(np.argmax(cand.logits))


class StartsAtZero(Greedy):
    """The running maximum starts at 0, so that nothing beats it where all logits are negative."""

    def apply(self, cand: Candidates) -> None:
        best = int(np.argmax(np.nan_to_num(cand.logits, nan=-np.inf)))
        cand.selected = best if cand.logits[best] > 0 else 0


class NothingAboveMinusInf(Greedy):
    """The running maximum starts at -inf and no index: all -inf selects nothing."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if (cand.logits == -np.inf).all():
            cand.selected = -1


class ReadsProbabilities(Greedy):
    """The largest p is taken, which no stage need have written yet."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = int(np.argmax(cand.p))


MUTANTS = [
    Mutant("greedy/last-of-equal-wins", LastOfEqualWins, case="greedy/first-of-equals"),
    Mutant("greedy/lowest-id-wins", LowestIdWins),
    Mutant(
        "greedy/element-zero", ElementZero, "bug zoo 18, LC #4261", case="greedy/after-typical-p"
    ),
    Mutant("greedy/nan-wins", NanWins, "bug zoo 74", case="greedy/nan-later-is-passed-over"),
    Mutant("greedy/starts-at-zero", StartsAtZero, "bug zoo 74", case="greedy/negative-logits"),
    Mutant("greedy/nothing-above-minus-inf", NothingAboveMinusInf, case="greedy/all-masked"),
    Mutant(
        "greedy/reads-probabilities",
        ReadsProbabilities,
        "bug zoo 80, LC #7093",
        case="greedy/not-by-p",
    ),
]
