"""top_p up to b6133.

Source: llama_sampler_top_p_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.top_p import TopP


class OldTopP(TopP):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1 or cand.sorted or not self.old:
            super().apply(cand)
        elif "top-p-sorts-first" in self.old:
            sort(cand, self.old)
            super().apply(cand)
        else:
            cand.softmax(sort=False)
            sort(cand, self.old)
            cand.keep(slice(self._cut(cand.p)))

    def clone(self) -> "OldTopP":
        return in_state(self, super().clone())
