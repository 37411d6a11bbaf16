"""tinygrad's sampler, wrong in one way each."""

import numpy as np

from sampler_parity.engines.tinygrad.model import Tinygrad
from sampler_parity.engines.tinygrad.noise import gumbel
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.floats import FloatArray


class Multiplied(Tinygrad):
    """The temperature multiplies the logits."""

    def scaled(self, logits: FloatArray) -> FloatArray:
        return np.asarray(logits * self.temperature) if self.temperature > 0 else logits * 1e12


class ZeroIsOff(Tinygrad):
    """A temperature of 0 is taken for 1."""

    def scaled(self, logits: FloatArray) -> FloatArray:
        return logits if self.temperature == 0 else super().scaled(logits)


class BelowZeroReverses(Tinygrad):
    """A temperature below 0 turns the order round."""

    def scaled(self, logits: FloatArray) -> FloatArray:
        return logits / self.temperature if self.temperature < 0 else super().scaled(logits)


class GreedyBranch(Tinygrad):
    """Temperature 0 takes the first of the largest, without noise."""

    def noise(self, n: int) -> FloatArray:
        noise = super().noise(n)
        return np.zeros_like(noise) if self.temperature == 0 else noise


class LastOfEqual(Tinygrad):
    """The last of equal sums comes."""

    def apply(self, cand: Candidates) -> None:
        sums = self.scaled(cand.logits) + self.noise(len(cand))
        cand.selected = len(cand) - 1 - int(sums[::-1].argmax())


class SameNumbers(Tinygrad):
    """Every token has the same numbers."""

    def noise(self, n: int) -> FloatArray:
        return gumbel(self.seed, 0, n)


class CountsTokens(Tinygrad):
    """The counter counts tokens, not numbers."""

    def noise(self, n: int) -> FloatArray:
        self.count += 1
        return gumbel(self.seed, self.count - 1, n)


class ResetGoesOn(Tinygrad):
    """A reset does not restart the numbers."""

    def reset(self) -> None:
        pass


def _mutant(name: str, make: type[Tinygrad], case: str) -> Mutant:
    return Mutant(f"tinygrad/{name}", make, case=f"tinygrad/{case}")


MUTANTS = [
    _mutant("multiplied", Multiplied, "temperature-divides"),
    _mutant("zero-is-off", ZeroIsOff, "greedy-by-default"),
    _mutant("below-zero-reverses", BelowZeroReverses, "temperature-below-zero"),
    _mutant("greedy-branch", GreedyBranch, "zeros-are-drawn"),
    _mutant("last-of-equal", LastOfEqual, "greedy-first-of-equals"),
    _mutant("same-numbers", SameNumbers, "flat"),
    _mutant("counts-tokens", CountsTokens, "flat"),
    _mutant("reset-goes-on", ResetGoesOn, "sample/"),
]
