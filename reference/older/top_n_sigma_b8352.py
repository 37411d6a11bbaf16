"""top_n_sigma up to b8352.

Source: llama_sampler_top_n_sigma_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.parameters import float32


class TopNSigmaB8352:
    name = "top_n_sigma"

    def __init__(self, old: Old, n: Any) -> None:
        self.old = old
        self.n = float32("n", n)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        off = self.n <= 0 or len(cand) <= 1
        if off and "top-n-sigma-never-off" not in self.old:
            return
        if len(cand) > 0:
            self._mask(cand)
        if "top-n-sigma-softmax" in self.old:
            sort(cand, self.old)
            cand.softmax(sort=False)

    def _mask(self, cand: Candidates) -> None:
        kind = cand.logits.dtype.type
        counted = cand.logits
        if "top-n-sigma-counts-inf" not in self.old:
            counted = counted[counted != -np.inf]
        if len(counted) == 0:
            return
        top = floats.largest(counted, cand.logits[0])
        mean = floats.total(counted) / kind(len(counted))
        variance = floats.total_of_squares(counted, mean) / kind(len(counted))
        threshold = floats.multiply_add(-kind(self.n), np.sqrt(variance), top)
        floats.mask_below(cand.logits, threshold)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TopNSigmaB8352":
        return TopNSigmaB8352(self.old, self.n)
