"""top_k up to b4980.

Source: llama_sampler_top_k_impl, src/llama-sampling.cpp.
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.samplers.top_k import keep_most_likely


class TopKB4980:
    name = "top_k"

    def __init__(self, old: Old, k: Any) -> None:
        self.old = old
        self.k = int32("k", k)

    def apply(self, cand: Candidates) -> None:
        if self.k > 0 or "top-k-0-sorts" not in self.old:
            keep_most_likely(cand, self.k)
        elif not cand.sorted:
            cand.partial_sort(len(cand))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TopKB4980":
        return TopKB4980(self.old, self.k)
