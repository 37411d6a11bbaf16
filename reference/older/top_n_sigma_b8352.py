"""top_n_sigma up to b8352.

Source: llama_sampler_top_n_sigma_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma


class TopNSigmaB8352(TopNSigma):
    def __init__(self, old: Old, n: Any) -> None:
        super().__init__(n)
        self.old = old

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        off = self.n <= 0 or len(cand) <= 1
        if off and "top-n-sigma-never-off" not in self.old:
            return
        counts_inf = "top-n-sigma-counts-inf" in self.old
        self._mask(cand, cand.logits if counts_inf else cand.logits[cand.logits != -np.inf])
        if "top-n-sigma-softmax" in self.old:
            sort(cand, self.old)
            cand.softmax(sort=False)
