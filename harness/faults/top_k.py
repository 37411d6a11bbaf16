"""top_k, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, sorting
from sampler_parity.reference.samplers.top_k import TopK


class ZeroMeansOne(TopK):
    """k <= 0 is raised to 1 instead of meaning off."""

    def apply(self, cand: Candidates) -> None:
        TopK(max(self.k, 1)).apply(cand)


class ZeroSorts(TopK):
    """k <= 0 keeps all, as it must, but sorts them."""

    def apply(self, cand: Candidates) -> None:
        TopK(self.k if self.k > 0 else len(cand)).apply(cand)


class NegativeMeansOne(TopK):
    """Only k = 0 means off; a negative k keeps one."""

    def apply(self, cand: Candidates) -> None:
        TopK(1 if self.k < 0 else self.k).apply(cand)


class KeepsTiesOfTheLast(TopK):
    """Everything equal to the k-th logit stays too."""

    def apply(self, cand: Candidates) -> None:
        k = self.k
        if 0 < k < len(cand):
            kth = np.sort(cand.logits)[::-1][k - 1]
            k = int((cand.logits >= kth).sum())
        TopK(k).apply(cand)


class TiesThatDoNotFitGo(TopK):
    """Equal ones stay together: where not all of them fit, none does."""

    def apply(self, cand: Candidates) -> None:
        k = self.k
        if 0 < k < len(cand):
            top = np.sort(cand.logits)[::-1]
            k = k if top[k] < top[k - 1] else max(1, int((top > top[k - 1]).sum()))
        TopK(k).apply(cand)


class KeepsOneMore(TopK):
    """k + 1 tokens stay."""

    def apply(self, cand: Candidates) -> None:
        TopK(self.k + 1 if self.k > 0 else self.k).apply(cand)


class LargeKIsOff(TopK):
    """k >= n returns at once, unsorted."""

    def apply(self, cand: Candidates) -> None:
        if self.k < len(cand):
            super().apply(cand)


class SortedFlagForgotten(TopK):
    """The flag that says `sorted` stays false."""

    def apply(self, cand: Candidates) -> None:
        was = cand.sorted
        super().apply(cand)
        cand.sorted = was


class VocabularyOrder(TopK):
    """The right tokens, in the order of the vocabulary, as a selection without sort leaves them."""

    def apply(self, cand: Candidates) -> None:
        was = cand.sorted
        super().apply(cand)
        if self.k > 0 and not was:
            cand.keep(np.argsort(cand.ids))


class StableSort(TopK):
    """Equal logits stay in the order of their ids instead of that of the heap."""

    def apply(self, cand: Candidates) -> None:
        if self.k <= 0 or cand.sorted:
            super().apply(cand)
            return
        cand.refuse_nan()
        cand.keep(np.argsort(-cand.logits, kind="stable")[: self.k])
        cand.sorted = True


class NoBuckets(TopK):
    """Above 128 tokens the heap of std::partial_sort is used too, which orders ties otherwise."""

    def apply(self, cand: Candidates) -> None:
        if self.k <= 128 or cand.sorted:
            super().apply(cand)
            return
        cand.refuse_nan()
        cand.keep(sorting.std_partial_sort(cand.logits, min(self.k, len(cand))))
        cand.sorted = True


class ThresholdByMoments(TopK):
    """The cut is estimated from mean and deviation instead of found."""

    def apply(self, cand: Candidates) -> None:
        if 0 < self.k < len(cand):
            x = cand.logits
            k = int((x > x.mean() + 2 * x.std()).sum())
            TopK(max(1, k)).apply(cand)
        else:
            super().apply(cand)


class TrustsNoFlag(TopK):
    """Sorted candidates are sorted again, which moves equal ones."""

    def apply(self, cand: Candidates) -> None:
        if self.k > 0:
            cand.sorted = False
        super().apply(cand)


MUTANTS = [
    Mutant("top_k/zero-means-one", ZeroMeansOne, "bug zoo 1, LCP #220", case="top_k/zero-is-off"),
    Mutant("top_k/zero-sorts", ZeroSorts, "bug zoo 2, LC #13171"),
    Mutant(
        "top_k/negative-means-one",
        NegativeMeansOne,
        "bug zoo 1, LC #5388",
        case="top_k/minus-one-is-off",
    ),
    Mutant(
        "top_k/keeps-ties-of-the-last",
        KeepsTiesOfTheLast,
        "bug zoo 12, VL #15478",
        case="top_k/exactly-k-of-ties",
    ),
    Mutant("top_k/ties-that-do-not-fit-go", TiesThatDoNotFitGo, case="top_k/exactly-k-of-ties"),
    Mutant("top_k/keeps-one-more", KeepsOneMore, case="top_k/k-below-n"),
    Mutant("top_k/large-k-is-off", LargeKIsOff, case="top_k/k-equals-n"),
    Mutant("top_k/sorted-flag-forgotten", SortedFlagForgotten),
    Mutant("top_k/vocabulary-order", VocabularyOrder),
    Mutant("top_k/stable-sort", StableSort),
    Mutant("top_k/no-buckets", NoBuckets, case="top_k/matrix/ties-V129-k129"),
    Mutant("top_k/threshold-by-moments", ThresholdByMoments, "bug zoo 13"),
    Mutant("top_k/trusts-no-flag", TrustsNoFlag, case="top_k/stale-order-is-cut"),
]
