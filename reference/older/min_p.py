"""min_p up to b6133.

Source: llama_sampler_min_p_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.min_p import MinP


class OldMinP(MinP):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if self.p > 0 and not cand.sorted and len(cand) > 0:
            n = self._n_passing(cand)
            if n == 0 == self.min_keep and "min-p-keeps-none" in self.old:
                cand.keep(slice(0))
                return
            if n < max(1, self.min_keep):
                sort(cand, self.old)
        super().apply(cand)

    @np.errstate(all="ignore")
    def _n_passing(self, cand: Candidates) -> int:
        kind = cand.logits.dtype.type
        top = floats.largest(np.append(kind(np.finfo(np.float32).min), cand.logits))
        return int((cand.logits >= top + floats.log(kind(self.p))).sum())

    def clone(self) -> "OldMinP":
        return in_state(self, super().clone())
