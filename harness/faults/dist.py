"""dist, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.dist import Dist


class WalksInIdOrder(Dist):
    """The draw walks the candidates by id, not as they stand."""

    def apply(self, cand: Candidates) -> None:
        by_id = np.argsort(cand.ids)
        walked = Candidates(cand.ids[by_id], cand.logits[by_id], cand.p[by_id])
        super().apply(walked)
        cand.p[by_id] = walked.p
        cand.selected = int(by_id[walked.selected])


class WalksInSortedOrder(Dist):
    """The candidates are sorted before the draw."""

    def apply(self, cand: Candidates) -> None:
        if not cand.sorted:
            cand.keep(np.argsort(-cand.logits, kind="stable"))
        super().apply(cand)


class FrozenStream(Dist):
    """The generator is copied for every draw and never written back."""

    def apply(self, cand: Candidates) -> None:
        before = self.rng.clone()
        super().apply(cand)
        self.rng = before


class SingletonDrawsNothing(Dist):
    """A single candidate uses up no draw, as before v0.5.0."""

    def apply(self, cand: Candidates) -> None:
        before = self.rng.clone()
        super().apply(cand)
        if len(cand) == 1:
            self.rng = before


class SeedIgnored(Dist):
    """Every seed is taken for 0."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.seed = 0
        self.rng.seed(0)


class ResetKeepsStream(Dist):
    """Reset leaves the generator where it is."""

    def reset(self) -> None:
        pass


class CloneSharesStream(Dist):
    """A clone draws from the same generator object."""

    def clone(self) -> Dist:
        twin = type(self)(self.seed)
        twin.rng = self.rng
        return twin


class CloneStartsAnew(Dist):
    """A clone starts its stream from the seed."""

    def clone(self) -> Dist:
        return type(self)(self.seed)


class OneWordADraw(Dist):
    """The uniform number is a float of one generator word, not a double of two."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.rng = _OneWord(self.seed)


class _OneWord(Mt19937):
    def uniform_double(self) -> float:
        return float(self.uniform_float())


class WordsSwapped(Dist):
    """The two generator words of a uniform number are put together in the wrong order."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.rng = _HighWordFirst(self.seed)


class _HighWordFirst(Mt19937):
    def uniform_double(self) -> float:
        high, low = self.words(2)
        return (float(low) + float(high) * 2.0**32) / 2.0**64


class ProbabilitiesNotDivided(Dist):
    """p stays exp(logit - max), without the division by the sum."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) > 1:
            cand.p = floats.exp(cand.logits - cand.max_logit())


class SumInFloat(Dist):
    """p is divided by a sum taken in float32 instead of double."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) > 1:
            p = floats.exp(cand.logits - cand.max_logit())
            cand.p = p / floats.total(p)


class ExpInDouble(Dist):
    """exp is computed in double and rounded: another last bit in some values out of thousands."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) > 1:
            p = np.exp((cand.logits - cand.max_logit()).astype(np.float64)).astype(np.float32)
            cand.p = (p / p.sum(dtype=np.float64)).astype(np.float32)


class NothingReachedSelectsFirst(Dist):
    """Where NaN keeps the walk from ever ending, the first candidate is selected, not the last."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) and np.isnan(cand.p).all():
            cand.selected = 0


class TakesPAsItIs(Dist):
    """p that a filter left is taken for the law, and not computed again."""

    def apply(self, cand: Candidates) -> None:
        left = cand.p.copy()
        super().apply(cand)
        if left.any():
            cand.p = left


class UniformFromTheTop(Dist):
    """1 - u is used in the place of u: the same law, another token."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.rng = _FromTheTop(self.seed)


class _FromTheTop(Mt19937):
    def uniform_double(self) -> float:
        return 1.0 - super().uniform_double()


MUTANTS = [
    Mutant(
        "dist/walks-in-id-order",
        WalksInIdOrder,
        "bug zoo 60, LC #15665",
        case="dist/order/normal-V20-sorted",
    ),
    Mutant("dist/walks-in-sorted-order", WalksInSortedOrder, "bug zoo 60, LC #15665"),
    Mutant(
        "dist/frozen-stream", FrozenStream, "bug zoo 56, MX #1245", case="dist/same-row-many-draws"
    ),
    Mutant(
        "dist/singleton-draws-nothing",
        SingletonDrawsNothing,
        "ours: llama.cpp up to b6673",
        case="dist/single-then-many",
    ),
    Mutant("dist/seed-ignored", SeedIgnored, "bug zoo 55, LC #9398"),
    Mutant("dist/reset-keeps-stream", ResetKeepsStream, "bug zoo 55, LC #9398", case="state/odd"),
    Mutant(
        "dist/clone-shares-stream", CloneSharesStream, "bug zoo 58, VL #51226", case="state/odd"
    ),
    Mutant("dist/clone-starts-anew", CloneStartsAnew, "bug zoo 58, VL #51226", case="state/odd"),
    Mutant("dist/one-word-a-draw", OneWordADraw),
    Mutant("dist/words-swapped", WordsSwapped),
    Mutant("dist/probabilities-not-divided", ProbabilitiesNotDivided, case="dist/probabilities"),
    Mutant("dist/sum-in-float", SumInFloat),
    Mutant("dist/exp-in-double", ExpInDouble, case="dist/matrix/negative-V129-seed1"),
    Mutant(
        "dist/nothing-reached-selects-first",
        NothingReachedSelectsFirst,
        "bug zoo 74",
        case="dist/all-masked",
    ),
    Mutant("dist/takes-p-as-it-is", TakesPAsItIs, at="relation", case="metamorphic/sum"),
    Mutant("dist/uniform-from-the-top", UniformFromTheTop),
]
