"""temp_ext, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.temp import scale
from sampler_parity.reference.samplers.temp_ext import TempExt


class Steps(TempExt):
    """temp_ext with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def _apply_dynamic(self, cand: Candidates) -> None:
        if len(cand) <= 1:
            return
        low, high = self.range()
        cand.softmax(sort=True)
        scale(cand, self.temperature(low, high, self.entropy(cand.p) / self.largest(len(cand))))
        self.normalize(cand)

    def range(self) -> tuple[Any, Any]:
        return max(np.float32(0), self.temp - self.delta), self.temp + self.delta

    def entropy(self, p: floats.FloatArray) -> Any:
        terms = np.where(p > 0, p * floats.log(p), np.float32(0))
        return np.float32(0) - floats.total(terms)

    def largest(self, n: int) -> Any:
        return -floats.log(np.float32(1) / np.float32(n))

    def temperature(self, low: Any, high: Any, share: Any) -> Any:
        return low + (high - low) * floats.power(share, self.exponent)

    def normalize(self, cand: Candidates) -> None:
        p = floats.exp(cand.logits.astype(np.float64) - np.float64(cand.logits[0]))
        cand.p = (p.astype(np.float32) / floats.total(p)).astype(np.float32)


class RangeReachesBelowZero(Steps):
    """temp - delta is not cut off at 0."""

    def range(self) -> tuple[Any, Any]:
        return self.temp - self.delta, self.temp + self.delta


class RangeUpsideDown(Steps):
    """The temperature falls with the entropy instead of rising."""

    def range(self) -> tuple[Any, Any]:
        low, high = super().range()
        return high, low


class EntropyInDouble(Steps):
    """The entropy is summed in double."""

    def entropy(self, p: floats.FloatArray) -> Any:
        p = p[p > 0].astype(np.float64)
        return np.float32(-(p * np.log(p)).sum())


class EntropyOfZeroIsNan(Steps):
    """p = 0 makes the entropy NaN."""

    def entropy(self, p: floats.FloatArray) -> Any:
        return -floats.total(p * floats.log(p))


class LargestEntropyInBits(Steps):
    """The largest entropy is in bits, the entropy in nats."""

    def largest(self, n: int) -> Any:
        return floats.log2(np.float32(n))


class LargestEntropyFromN(Steps):
    """log(n) is used for -log(1 / n): another last bit for some n."""

    def largest(self, n: int) -> Any:
        return floats.log(np.float32(n))


class ExponentIgnored(Steps):
    """The exponent has no effect."""

    def temperature(self, low: Any, high: Any, share: Any) -> Any:
        return low + (high - low) * share


class PowerInDouble(Steps):
    """The power is taken in double and rounded."""

    def temperature(self, low: Any, high: Any, share: Any) -> Any:
        power = floats.power(np.float64(share), np.float64(self.exponent))
        return low + (high - low) * np.float32(power)


class ProbabilitiesOfBefore(Steps):
    """p stays that of the logits before they were scaled."""

    def normalize(self, cand: Candidates) -> None:
        pass


class SoftmaxInFloat(Steps):
    """The softmax after scaling is in float32."""

    def normalize(self, cand: Candidates) -> None:
        cand.softmax(sort=False)


class DeltaIgnored(TempExt):
    """delta has no effect."""

    def apply(self, cand: Candidates) -> None:
        if self.temp != 1:
            scale(cand, self.temp)


class NoDeltaIsDynamic(Steps):
    """delta = 0 takes the dynamic path too, which sorts and writes p."""

    def apply(self, cand: Candidates) -> None:
        if self.delta == 0 and (self.temp != 1):
            self._apply_dynamic(cand)
        else:
            super().apply(cand)


class OneCandidateScaled(TempExt):
    """A single candidate is scaled too."""

    def _apply_dynamic(self, cand: Candidates) -> None:
        if len(cand) == 1:
            scale(cand, self.temp)
        super()._apply_dynamic(cand)


MUTANTS = [
    Mutant(
        "temp_ext/range-reaches-below-zero",
        RangeReachesBelowZero,
        case="temp_ext/lower-end-stops-at-zero",
    ),
    Mutant("temp_ext/range-upside-down", RangeUpsideDown, case="temp_ext/even-odds-use-tmax"),
    Mutant("temp_ext/entropy-in-double", EntropyInDouble),
    Mutant("temp_ext/entropy-of-zero-is-nan", EntropyOfZeroIsNan, "bug zoo 74"),
    Mutant("temp_ext/largest-entropy-in-bits", LargestEntropyInBits),
    Mutant(
        "temp_ext/largest-entropy-from-n",
        LargestEntropyFromN,
        case="temp_ext/largest-entropy-of-47",
    ),
    Mutant("temp_ext/exponent-ignored", ExponentIgnored, "bug zoo 44"),
    Mutant("temp_ext/power-in-double", PowerInDouble, case="temp_ext/power-is-powf"),
    Mutant("temp_ext/probabilities-of-before", ProbabilitiesOfBefore, "bug zoo 80, LC #7093"),
    Mutant("temp_ext/softmax-in-float", SoftmaxInFloat),
    Mutant("temp_ext/delta-ignored", DeltaIgnored, "bug zoo 44"),
    Mutant("temp_ext/no-delta-is-dynamic", NoDeltaIsDynamic, case="temp_ext/no-delta-is-temp"),
    Mutant("temp_ext/one-candidate-scaled", OneCandidateScaled, case="temp_ext/single-untouched"),
]
