"""top_k up to b4980.

Source: llama_sampler_top_k_impl, src/llama-sampling.cpp.
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old
from sampler_parity.reference.samplers.top_k import TopK


class TopKB4980(TopK):
    def __init__(self, old: Old, k: Any) -> None:
        super().__init__(k)
        self.old = old

    def apply(self, cand: Candidates) -> None:
        if self.k > 0 or "top-k-0-sorts" not in self.old:
            super().apply(cand)
        elif not cand.sorted:
            cand.partial_sort(len(cand))
