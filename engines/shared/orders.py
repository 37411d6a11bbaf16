"""Chains of llama.cpp's samplers in a wrong order: a fault combines one of these with its engine's
pipeline."""

from sampler_parity.engines.shared.chain_model import OfChain
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_p import TopP


class TemperatureFirst(OfChain):
    """The temperature comes before the filters."""

    def apply(self, cand: Candidates) -> None:
        self.samplers.sort(key=lambda sampler: not isinstance(sampler, Temp))
        super().apply(cand)


class TopPBeforeTopK(OfChain):
    """Top-p counts in the whole vocabulary, and top-k comes after it."""

    def apply(self, cand: Candidates) -> None:
        self.samplers.sort(key=lambda sampler: not isinstance(sampler, TopP))
        super().apply(cand)
