"""top_k up to b4980.

Source: llama_sampler_top_k_impl, src/llama-sampling.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state
from sampler_parity.reference.samplers.top_k import TopK


class OldTopK(TopK):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if self.k > 0 or "top-k-0-sorts" not in self.old:
            super().apply(cand)
        elif not cand.sorted:
            cand.partial_sort(len(cand))

    def clone(self) -> "OldTopK":
        return in_state(self, super().clone())
