"""typical_p up to b6133.

Source: llama_sampler_typical_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.typical_p import TypicalP, distances


class TypicalPB6133(TypicalP):
    def __init__(self, old: Old, p: Any, min_keep: Any = 0) -> None:
        super().__init__(p, min_keep)
        self.old = old

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        sort(cand, self.old)
        cand.softmax(sort=False)
        min_keep = self.min_keep
        if min_keep == 0 and "typical-p-0-keeps-all" in self.old:
            min_keep = len(cand) + 1  # i >= min_keep - 1 in size_t: never
        order = sorting.std_sort(-distances(cand.p))
        enough = floats.running_sum(cand.p[order]) > self.p
        enough[: max(0, min_keep - 1)] = False
        cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)
        cand.sorted = False
