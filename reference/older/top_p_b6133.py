"""top_p up to b6133.

Source: llama_sampler_top_p_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.top_p import TopP


class TopPB6133(TopP):
    def __init__(self, old: Old, p: Any, min_keep: Any = 0) -> None:
        super().__init__(p, min_keep)
        self.old = old

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        if "top-p-sorts-first" in self.old:
            sort(cand, self.old)
        cand.softmax(sort=False)
        sort(cand, self.old)
        cand.keep(slice(self._cut(cand.p)))
