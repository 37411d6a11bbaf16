"""min_p up to b6133.

Source: llama_sampler_min_p_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.min_p import LOWEST, MinP


class MinPB6133(MinP):
    def __init__(self, old: Old, p: Any, min_keep: Any = 0) -> None:
        super().__init__(p, min_keep)
        self.old = old

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or len(cand) == 0:
            return
        kind = cand.logits.dtype.type
        if not cand.sorted:
            top = floats.largest(cand.logits, kind(LOWEST))
            passing = np.flatnonzero(cand.logits >= top + floats.log(kind(self.p)))
            if len(passing) == 0 == self.min_keep and "min-p-keeps-none" in self.old:
                cand.keep(slice(0))
                return
            if 0 < len(passing) >= self.min_keep:
                cand.keep(passing)
                return
            sort(cand, self.old)
        too_unlikely = cand.logits < cand.logits[0] + floats.log(kind(self.p))
        too_unlikely[: max(1, self.min_keep)] = False
        if too_unlikely.any():
            cand.keep(slice(int(too_unlikely.argmax())))
