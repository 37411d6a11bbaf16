"""torchtune's sampler, wrong in one way each."""

import numpy as np

from sampler_parity.engines.torchtune.model import Torchtune
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.floats import FloatArray


class Multiplied(Torchtune):
    """The temperature multiplies the logits."""

    def divisor(self) -> float:
        return 1 / super().divisor()


class BelowZeroReverses(Torchtune):
    """A temperature below 0 turns the order round."""

    def divisor(self) -> float:
        return self.temperature if self.temperature < 0 else super().divisor()


class ExactlyK(Torchtune):
    """Exactly k tokens stay, the lower ids of equal ones."""

    def largest(self, logits: FloatArray) -> FloatArray:
        cut = np.full_like(logits, -np.inf)
        kept = np.argsort(-logits, kind="stable")[: self.top_k]
        cut[kept] = logits[kept]
        return cut


class OneMore(Torchtune):
    """Top-k keeps one token too many."""

    def largest(self, logits: FloatArray) -> FloatArray:
        if self.top_k is None:
            return logits
        self.top_k += 1
        cut = super().largest(logits)
        self.top_k -= 1
        return cut


class PivotGoes(Torchtune):
    """The k-th token goes, too, unless it is the only one."""

    def largest(self, logits: FloatArray) -> FloatArray:
        cut = super().largest(logits)
        pivot = cut[cut > -np.inf].min(initial=np.inf)
        gone = (cut == pivot) & (cut < cut.max())
        return np.where(gone & (self.top_k is not None), logits.dtype.type(-np.inf), cut)


def _mutant(name: str, make: type[Torchtune], case: str) -> Mutant:
    return Mutant(f"torchtune/{name}", make, case=f"torchtune/{case}")


MUTANTS = [
    _mutant("multiplied", Multiplied, "temperature-divides"),
    _mutant("below-zero-reverses", BelowZeroReverses, "temperature-below-zero"),
    _mutant("exactly-k", ExactlyK, "top_k-keeps-ties"),
    _mutant("one-more", OneMore, "top_k-of-two"),
    _mutant("pivot-goes", PivotGoes, "top_k-of-two"),
]
