"""LitGPT's sampler, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.litgpt.model import Litgpt
from sampler_parity.engines.shared.torch_cpu import cumsum
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.floats import FloatArray


class OneMore(Litgpt):
    """Top-k keeps one token too many."""

    def largest(self, logits: FloatArray) -> FloatArray:
        if self.top_k is None:
            return logits
        self.top_k += 1
        cut = super().largest(logits)
        self.top_k -= 1
        return cut


class KeepsTies(Litgpt):
    """Top-k keeps all that equal the k-th, as in nanoGPT."""

    def largest(self, logits: FloatArray) -> FloatArray:
        cut = super().largest(logits)
        return np.where(logits >= cut[cut > -np.inf].min(initial=np.inf), logits, cut)


class TemperatureLast(Litgpt):
    """The temperature stands behind top-p, as in llama.cpp's chain."""

    def nucleus(self, logits: FloatArray) -> FloatArray:
        back = logits * logits.dtype.type(self.temperature)
        return super().nucleus(back) / logits.dtype.type(self.temperature)


class EqualStays(Litgpt):
    """A sum that equals 1 - top_p stays."""

    def goes(self, p: FloatArray) -> Any:
        return cumsum(p) < p.dtype.type(1 - self.top_p)


class LastMayGo(Litgpt):
    """top_p counts the tokens that come before, not the token itself."""

    def goes(self, p: FloatArray) -> Any:
        return cumsum(p) - p <= p.dtype.type(1 - self.top_p)


class BelowZeroReverses(Litgpt):
    """A temperature below 0 turns the order round."""

    def greedy(self) -> bool:
        return self.temperature == 0 or self.top_p == 0


class ZeroKeepsAll(Litgpt):
    """top_k 0 is off."""

    def largest(self, logits: FloatArray) -> FloatArray:
        return logits if self.top_k == 0 else super().largest(logits)


class LastOfEqual(Litgpt):
    """Greedy takes the last of the largest."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.greedy():
            cand.selected = len(cand) - 1 - int(self.largest(cand.logits)[::-1].argmax())


def _mutant(name: str, make: type[Litgpt], case: str) -> Mutant:
    return Mutant(f"litgpt/{name}", make, case=f"litgpt/{case}")


MUTANTS = [
    _mutant("one-more", OneMore, "top_k-of-two"),
    _mutant("keeps-ties", KeepsTies, "top_k-ties"),
    _mutant("temperature-last", TemperatureLast, "top_p-behind-temperature"),
    _mutant("equal-stays", EqualStays, "top_p-sum-equal"),
    _mutant("last-may-go", LastMayGo, "top_p-crossing-token"),
    _mutant("below-zero-reverses", BelowZeroReverses, "temperature-below-zero"),
    _mutant("zero-keeps-all", ZeroKeepsAll, "top_k-zero-greedy"),
    _mutant("last-of-equal", LastOfEqual, "greedy-first"),
]
