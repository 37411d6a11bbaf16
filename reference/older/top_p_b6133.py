"""top_p up to b6133.

Source: llama_sampler_top_p_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.parameters import float32, size


class TopPB6133:
    name = "top_p"

    def __init__(self, old: Old, p: Any, min_keep: Any = 0) -> None:
        self.old = old
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        if "top-p-sorts-first" in self.old:
            sort(cand, self.old)
        cand.softmax(sort=False)
        sort(cand, self.old)
        mass = floats.running_sum(cand.p)
        enough = (mass >= self.p) & (np.arange(1, len(cand) + 1) >= self.min_keep)
        if enough.any():
            cand.keep(slice(int(enough.argmax()) + 1))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TopPB6133":
        return TopPB6133(self.old, self.p, self.min_keep)
