"""Samplers that differ at exact equality, on NaN or +inf alone, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.xtc import Xtc


class SumMustExceed(Dist):
    """A running sum that equals u times the total is passed by: > in the place of >=."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if len(cand) < 2:
            super().apply(cand)
            return
        running = np.cumsum(cand.weights().astype(np.float64))
        u = self.rng.clone().uniform_double()
        super().apply(cand)
        if running[cand.selected] == running[-1] * u:
            cand.selected = min(cand.selected + 1, len(cand) - 1)


class DrawMustExceed(AdaptiveP):
    """A running sum of p that equals u is passed by: std::upper_bound for std::lower_bound."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        u = self.rng.clone().uniform_double()
        super().apply(cand)
        steps = np.cumsum(cand.p.astype(np.float64))
        if len(cand) > 1 and steps[cand.selected] == u:
            cand.selected = min(cand.selected + 1, len(cand) - 1)


class SumWithinFloat(Dist):
    """u is compared with a tolerance of 1e-12: a sum just below it is reached."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        running = np.cumsum(cand.weights().astype(np.float64)) if len(cand) > 1 else np.zeros(1)
        u = self.rng.clone().uniform_double()
        super().apply(cand)
        if len(cand) > 1 and np.isfinite(running[-1]):
            at = int(running.searchsorted(running[-1] * u - 1e-12))
            cand.selected = min(at, len(cand) - 1)


class CutAtMu(MirostatV2):
    """A candidate whose surprise equals mu is cut: >= in the place of >."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        at_mu = np.flatnonzero(-floats.log2(cand.p) == np.float32(self.mu))
        if len(at_mu):
            cand.keep(slice(max(1, int(at_mu[0]))))
        super().apply(cand)


class ZerosInOrder(TopK):
    """-0.0 stands behind 0.0, as in a sort of the bits."""

    def apply(self, cand: Candidates) -> None:
        below = (cand.logits == 0) & np.signbit(cand.logits)
        behind = set(cand.ids[below].tolist())
        cand.logits[below] = np.float32(-1e-45)
        super().apply(cand)
        cand.logits[np.isin(cand.ids, list(behind))] = np.float32(-0.0)


class CoinMustBeBelow(Xtc):
    """A coin that equals the probability does nothing: >= in the place of >."""

    def apply(self, cand: Candidates) -> None:
        if len(cand) > 1 and self.rng.clone().uniform_float() == self.p:
            self.rng.uniform_float()
            return
        super().apply(cand)


class NanIsLargest(Greedy):
    """NaN counts as the largest logit, as np.argmax has it."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) and np.isnan(cand.logits).any():
            cand.selected = int(cand.logits.argmax())


class InfinityCapped(Temp):
    """What comes out is held below +inf."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        largest: Any = np.finfo(np.float32).max
        cand.logits[cand.logits == np.inf] = largest


class NanStays(MinP):
    """The cut asks for logits below it, not for those that reach it: a NaN stays."""

    def apply(self, cand: Candidates) -> None:
        kept = cand.copy()
        super().apply(cand)
        lost = np.isnan(kept.logits) & ~np.isin(kept.ids, cand.ids)
        if lost.any() and len(cand):
            wanted = np.isin(kept.ids, cand.ids) | lost
            kept.keep(wanted)
            cand.ids, cand.logits, cand.p = kept.ids, kept.logits, kept.p


class LargestSeedTaken(Dist):
    """4294967295 is a seed like any other."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.reset()

    def reset(self) -> None:
        self.rng.seed(self.seed)
        if self.seed == DEFAULT_SEED:
            self.rng.seed(0)


class DrawnOnce(AdaptiveP):
    """The seed that is drawn is kept: a reset starts the same stream again."""

    def reset(self) -> None:
        drawn = self.rng.seed_cur
        super().reset()
        self.rng.seed(drawn)


MUTANTS = [
    Mutant("dist/sum-must-exceed", SumMustExceed, case="dist/sum-"),
    Mutant("dist/sum-with-tolerance", SumWithinFloat, case="dist/sum-"),
    Mutant("adaptive_p/draw-must-exceed", DrawMustExceed, case="adaptive_p/sum-"),
    Mutant("dist/largest-seed-taken", LargestSeedTaken, case="unseeded/"),
    Mutant("adaptive_p/drawn-once", DrawnOnce, case="unseeded/"),
    Mutant("mirostat_v2/cut-at-mu", CutAtMu),
    Mutant("top_k/zeros-in-order", ZerosInOrder, case="top_k/matrix/ties-V129-k40"),
    Mutant("xtc/coin-must-be-below", CoinMustBeBelow, case="xtc/coin-equal-to-p-acts"),
    Mutant("greedy/nan-is-largest", NanIsLargest, case="non_finite/"),
    Mutant("temp/infinity-capped", InfinityCapped, case="non_finite/"),
    Mutant("min_p/nan-stays", NanStays, case="non_finite/"),
]
