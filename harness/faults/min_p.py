"""min_p, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.min_p import MinP


class ComparesProbabilities(MinP):
    """p_i >= p * p_max is tested instead of logits: another set at the boundary."""

    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or len(cand) == 0 or not np.isfinite(cand.logits).any():
            super().apply(cand)
            return
        trial = cand.copy()
        trial.softmax(sort=False)
        passing = np.flatnonzero(trial.p >= self.p * trial.p.max())
        if not cand.sorted and 0 < len(passing) >= self.min_keep:
            cand.keep(passing)
        else:
            super().apply(cand)


class MinKeepIgnored(MinP):
    """min_keep has no effect."""

    def apply(self, cand: Candidates) -> None:
        MinP(self.p, 0).apply(cand)


class MinKeepOnlyIfSorted(MinP):
    """min_keep has an effect on sorted candidates only."""

    def apply(self, cand: Candidates) -> None:
        MinP(self.p, self.min_keep if cand.sorted else 0).apply(cand)


class BoundaryGoes(MinP):
    """A logit that equals the threshold goes."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = len(cand)
        if self.p > 0 and n:
            threshold = cand.max_logit() + floats.log(self.p)
            above = np.flatnonzero(cand.logits > threshold)
            if not cand.sorted and 0 < len(above) >= self.min_keep:
                cand.keep(above)
                return
        super().apply(cand)


class AbsoluteThreshold(MinP):
    """p is compared with the probability itself, not with its share of the largest."""

    stays = 1  # of none that pass

    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or len(cand) == 0:
            return
        trial = cand.copy()
        trial.softmax(sort=False)
        passing = np.flatnonzero(trial.p >= self.p)
        if len(passing) >= max(self.stays, self.min_keep):
            cand.keep(passing)
        else:
            cand.partial_sort(len(cand))
            cand.keep(slice(max(self.stays, self.min_keep)))


class AbsoluteThresholdKeepsNone(AbsoluteThreshold):
    """p is compared with the probability itself, and where none is so large none stays."""

    stays = 0


class NothingPassesKeepsNone(MinP):
    """Where every logit is -inf no candidate stays."""

    def apply(self, cand: Candidates) -> None:
        banned = bool((cand.logits == -np.inf).all())
        super().apply(cand)
        if self.p > 0 and banned:
            cand.keep(slice(0))


class AlwaysSorts(MinP):
    """Candidates are sorted even where enough of them pass."""

    def apply(self, cand: Candidates) -> None:
        if self.p > 0 and len(cand):
            cand.partial_sort(len(cand))
        super().apply(cand)


class BinaryLogarithm(MinP):
    """The threshold is max + log2(p)."""

    def apply(self, cand: Candidates) -> None:
        if self.p > 0:
            MinP(floats.exp(floats.log2(self.p)), self.min_keep).apply(cand)


class OneIsOff(MinP):
    """p >= 1 disables."""

    def apply(self, cand: Candidates) -> None:
        if self.p < 1:
            super().apply(cand)


class WritesProbabilities(MinP):
    """p is written, as the older implementation by softmax did."""

    def apply(self, cand: Candidates) -> None:
        if self.p > 0 and len(cand):
            cand.softmax(sort=False)
        super().apply(cand)


class MasksInsteadOfRemoving(MinP):
    """Unlikely tokens get -inf and stay."""

    def apply(self, cand: Candidates) -> None:
        if self.p > 0 and len(cand) and not cand.sorted:
            low = cand.logits < cand.max_logit() + floats.log(self.p)
            cand.logits = np.where(low, np.float32(-np.inf), cand.logits)
        else:
            super().apply(cand)


MUTANTS = [
    Mutant(
        "min_p/compares-probabilities",
        ComparesProbabilities,
        "bug zoo 20, LC #5115",
        case="min_p/logit-form",
    ),
    Mutant(
        "min_p/min-keep-ignored",
        MinKeepIgnored,
        "bug zoo 16, LC #13405",
        case="min_p/min-keep-sorts",
    ),
    Mutant("min_p/min-keep-only-if-sorted", MinKeepOnlyIfSorted),
    Mutant("min_p/boundary-goes", BoundaryGoes, "bug zoo 20, LC #5115", case="min_p/logit-form"),
    Mutant("min_p/absolute-threshold", AbsoluteThreshold),
    Mutant("min_p/absolute-threshold-keeps-none", AbsoluteThresholdKeepsNone),
    Mutant(
        "min_p/nothing-passes-keeps-none",
        NothingPassesKeepsNone,
        "bug zoo 16, LC #13405",
        case="min_p/all-masked",
    ),
    Mutant("min_p/always-sorts", AlwaysSorts, case="min_p/unsorted-keeps-order"),
    Mutant(
        "min_p/binary-logarithm", BinaryLogarithm, case="min_p/boundary/half-p0.49999997-min_keep0"
    ),
    Mutant("min_p/one-is-off", OneIsOff, case="min_p/p-one-keeps-equals"),
    Mutant("min_p/writes-probabilities", WritesProbabilities),
    Mutant("min_p/masks-instead-of-removing", MasksInsteadOfRemoving),
]
