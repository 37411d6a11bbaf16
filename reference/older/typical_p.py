"""typical_p up to b6133.

Source: llama_sampler_typical_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.typical_p import TypicalP


class OldTypicalP(TypicalP):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if self.p < 1:
            sort(cand, self.old)
        min_keep = self.min_keep
        if min_keep == 0 and "typical-p-0-keeps-all" in self.old:
            self.min_keep = len(cand) + 1  # i >= min_keep - 1 in size_t: never
        super().apply(cand)
        self.min_keep = min_keep

    def clone(self) -> "OldTypicalP":
        return in_state(self, super().clone())
