"""xtc up to b6133.

Source: llama_sample_xtc_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.xtc import Xtc, drop_top_choices


class XtcB6133(Xtc):
    def __init__(self, old: Old, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(p, t, seed, min_keep)
        self.old = old

    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or self.t > 0.5 or len(cand) < 2:
            return
        if self.rng.uniform_float() > self.p:
            return
        sort(cand, self.old)
        drop_top_choices(cand, self.t, self.min_keep)

    def clone(self) -> "XtcB6133":
        twin = XtcB6133(self.old, self.p, self.t, self.seed, self.min_keep)
        twin.rng = self.rng.clone()
        return twin
