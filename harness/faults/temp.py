"""temp, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.temp import Temp, scale


class ZeroDivides(Temp):
    """temp = 0 divides."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.temp == 0:
            cand.logits = cand.logits / self.temp
        else:
            super().apply(cand)


class NegativeDivides(Temp):
    """A negative temp divides and turns the order round."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.temp < 0:
            cand.logits = cand.logits / self.temp
        else:
            super().apply(cand)


class ZeroIsOff(Temp):
    """temp <= 0 changes nothing."""

    def apply(self, cand: Candidates) -> None:
        if self.temp > 0:
            super().apply(cand)


class ZeroKeepsTies(Temp):
    """temp <= 0 keeps the logits of all that equal the largest."""

    def apply(self, cand: Candidates) -> None:
        if self.temp <= 0 and len(cand):
            masked = np.float32(-np.inf)
            cand.logits = np.where(cand.logits == cand.logits.max(), cand.logits, masked)
        else:
            super().apply(cand)


class ZeroRemoves(Temp):
    """temp <= 0 removes the other candidates instead of masking them."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.temp <= 0 and len(cand):
            best = floats.first_largest(cand.logits)
            cand.keep(slice(best, best + 1))


class ZeroKeepsElementZero(Temp):
    """temp <= 0 keeps the first candidate, as if they were always sorted."""

    def apply(self, cand: Candidates) -> None:
        if self.temp <= 0 and len(cand):
            cand.logits = cand.logits.copy()
            cand.logits[1:] = -np.inf
        else:
            super().apply(cand)


class SmallIsZero(Temp):
    """Below 1e-5 temp counts as 0."""

    def apply(self, cand: Candidates) -> None:
        scale(cand, np.float32(0) if self.temp < 1e-5 else self.temp)


class TimesReciprocal(Temp):
    """The logits are multiplied by 1 / temp: another last bit."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.temp > 0 and self.temp != 1:
            cand.logits = cand.logits * (np.float32(1) / self.temp)
        else:
            super().apply(cand)


class ScalesTheGap(Temp):
    """What is divided is the distance to the largest logit."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.temp > 0 and self.temp != 1 and len(cand):
            top = floats.largest(cand.logits)
            cand.logits = (cand.logits - top) / self.temp + top
        else:
            super().apply(cand)


class FlagCleared(Temp):
    """The flag that says `sorted` is cleared."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.sorted = False


class Ignored(Temp):
    """The parameter has no effect above 0."""

    def apply(self, cand: Candidates) -> None:
        if self.temp <= 0:
            super().apply(cand)


MUTANTS = [
    Mutant("temp/zero-divides", ZeroDivides, "bug zoo 63, LC #9897", case="temp/zero-keeps-argmax"),
    Mutant(
        "temp/negative-divides",
        NegativeDivides,
        "bug zoo 63, LC #9897",
        case="temp/negative-keeps-argmax",
    ),
    Mutant("temp/zero-is-off", ZeroIsOff),
    Mutant("temp/zero-keeps-ties", ZeroKeepsTies, case="temp/zero-first-of-equals"),
    Mutant("temp/zero-removes", ZeroRemoves, "bug zoo 63, LC #9897"),
    Mutant("temp/zero-keeps-element-zero", ZeroKeepsElementZero, "bug zoo 18, LC #4261"),
    Mutant("temp/small-is-zero", SmallIsZero, case="temp/matrix/normal-V129-temp1e-30"),
    Mutant("temp/times-reciprocal", TimesReciprocal),
    Mutant("temp/scales-the-gap", ScalesTheGap),
    Mutant("temp/flag-cleared", FlagCleared),
    Mutant("temp/ignored", Ignored, "bug zoo 44", case="temp/divides"),
]
