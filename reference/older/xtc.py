"""xtc up to b6133.

Source: llama_sample_xtc_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.xtc import Xtc


class OldXtc(Xtc):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        on = self.p > 0 and self.t <= 0.5 and len(cand) > 1
        if on and self.rng.clone().uniform_float() <= self.p:
            sort(cand, self.old)
        super().apply(cand)

    def clone(self) -> "OldXtc":
        return in_state(self, super().clone())
