"""typical_p up to b6133.

Source: llama_sampler_typical_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.parameters import float32, size


class TypicalPB6133:
    name = "typical_p"

    def __init__(self, old: Old, p: Any, min_keep: Any = 0) -> None:
        self.old = old
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        sort(cand, self.old)
        cand.softmax(sort=False)
        min_keep = self.min_keep
        if min_keep == 0 and "typical-p-0-keeps-all" in self.old:
            min_keep = len(cand) + 1  # i >= min_keep - 1 in size_t: never
        log_p = floats.log(cand.p)
        entropy = floats.total_of_products(-cand.p, log_p)
        order = sorting.std_sort(-abs(-log_p - entropy))
        enough = floats.running_sum(cand.p[order]) > self.p
        enough[: max(0, min_keep - 1)] = False
        cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)
        cand.sorted = False

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TypicalPB6133":
        return TypicalPB6133(self.old, self.p, self.min_keep)
