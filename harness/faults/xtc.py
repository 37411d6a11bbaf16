"""xtc, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.xtc import Xtc


class Steps(Xtc):
    """xtc with each step a method, so that a fault replaces one of them."""

    def apply(self, cand: Candidates) -> None:
        if self.off() or len(cand) < 2 or not self.acts():
            return
        cand.softmax(sort=True)
        self.remove(cand, self.n_top(cand))

    def off(self) -> bool:
        return bool(self.p <= 0 or self.t > 0.5)

    def acts(self) -> bool:
        return bool(self.rng.uniform_float() <= self.p)

    def n_top(self, cand: Candidates) -> int:
        return int((cand.p >= self.t).sum())

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) - (n_top - 1) >= self.min_keep:
            cand.keep(slice(n_top - 1, None))


class RemovesAllTop(Steps):
    """All top choices go, also the least likely one."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) - n_top >= max(1, self.min_keep):
            cand.keep(slice(n_top, None))


class RemovesOnlyTheFirst(Steps):
    """Only the likeliest token goes."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) - (n_top - 1) >= self.min_keep:
            cand.keep(slice(1, None))


class KeepsTheLikeliestTop(Steps):
    """Of the top choices the likeliest stays."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) - (n_top - 1) >= self.min_keep:
            at = np.arange(len(cand))
            cand.keep((at == 0) | (at >= n_top))


class CoinInverted(Steps):
    """The sampler acts for u > 1 - p: as often, at other steps."""

    def acts(self) -> bool:
        return bool(self.rng.uniform_float() > 1 - self.p)


class CoinOfTwoWords(Steps):
    """The uniform number is a double of two generator words."""

    def acts(self) -> bool:
        return bool(self.rng.uniform_double() <= self.p)


class CoinOnlyIfNeeded(Steps):
    """The coin is tossed only where there are two top choices."""

    def apply(self, cand: Candidates) -> None:
        trial = cand.copy()
        if len(trial) > 1:
            trial.softmax(sort=False)
        if self.n_top(trial) > 1:
            super().apply(cand)


class FrozenStream(Steps):
    """The generator is copied for every draw and never written back."""

    def acts(self) -> bool:
        return bool(self.rng.clone().uniform_float() <= self.p)


class ThresholdExceeded(Steps):
    """A probability must exceed t, not reach it."""

    def n_top(self, cand: Candidates) -> int:
        return int((cand.p > self.t).sum())


class MinKeepIgnored(Steps):
    """min_keep has no effect."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1:
            cand.keep(slice(n_top - 1, None))


class MinKeepOfTheVocabulary(Steps):
    """min_keep is compared with the number before the removal."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) >= self.min_keep:
            cand.keep(slice(n_top - 1, None))


class MinKeepExceeded(Steps):
    """More than min_keep must stay."""

    def remove(self, cand: Candidates, n_top: int) -> None:
        if n_top > 1 and len(cand) - (n_top - 1) > self.min_keep:
            cand.keep(slice(n_top - 1, None))


class HighThresholdIsOn(Steps):
    """t > 0.5 does not disable: it draws, sorts and writes p."""

    def off(self) -> bool:
        return bool(self.p <= 0)


class HalfIsOff(Steps):
    """t = 0.5 disables already."""

    def off(self) -> bool:
        return bool(self.p <= 0 or self.t >= 0.5)


class ResetKeepsStream(Steps):
    """Reset leaves the generator where it is."""

    def reset(self) -> None:
        pass


class SortsAlways(Steps):
    """Candidates are sorted even where the coin says no."""

    def acts(self) -> bool:
        self.said = super().acts()
        return True

    def remove(self, cand: Candidates, n_top: int) -> None:
        if self.said:
            super().remove(cand, n_top)


class SeedIgnored(Steps):
    """Every seed is taken for 0."""

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(p, t, seed, min_keep)
        self.seed = 0
        self.rng = Mt19937(0)


MUTANTS = [
    Mutant("xtc/removes-all-top", RemovesAllTop, "bug zoo 25", case="xtc/least-likely-top-stays"),
    Mutant("xtc/removes-only-the-first", RemovesOnlyTheFirst),
    Mutant("xtc/keeps-the-likeliest-top", KeepsTheLikeliestTop, "bug zoo 25"),
    Mutant(
        "xtc/coin-inverted", CoinInverted, "bug zoo 27, LC #9742", case="xtc/coin-equal-to-p-acts"
    ),
    Mutant(
        "xtc/coin-of-two-words",
        CoinOfTwoWords,
        "bug zoo 27, LC #9742",
        case="xtc/coin-equal-to-p-acts",
    ),
    Mutant("xtc/coin-only-if-needed", CoinOnlyIfNeeded, "bug zoo 27, LC #9742"),
    Mutant(
        "xtc/frozen-stream",
        FrozenStream,
        "bug zoo 56, MX #1245",
        case="xtc/matrix/normal-V2-p0.5-t0.01",
    ),
    Mutant("xtc/threshold-exceeded", ThresholdExceeded, case="xtc/threshold-is-reached"),
    Mutant("xtc/min-keep-ignored", MinKeepIgnored, "bug zoo 44", case="xtc/min-keep-blocks"),
    Mutant(
        "xtc/min-keep-of-the-vocabulary",
        MinKeepOfTheVocabulary,
        "bug zoo 25",
        case="xtc/min-keep-blocks",
    ),
    Mutant("xtc/min-keep-exceeded", MinKeepExceeded, case="xtc/min-keep-just-met"),
    Mutant("xtc/high-threshold-is-on", HighThresholdIsOn, case="xtc/above-half-is-off"),
    Mutant("xtc/half-is-off", HalfIsOff, case="xtc/half-is-not-off"),
    Mutant("xtc/reset-keeps-stream", ResetKeepsStream, "bug zoo 55, LC #9398", case="state/odd"),
    Mutant("xtc/sorts-always", SortsAlways, case="xtc/coin-above-p-rests"),
    Mutant(
        "xtc/seed-ignored", SeedIgnored, "bug zoo 55, LC #9398", case="xtc/coin-equal-to-p-acts"
    ),
]
