"""xtc up to b6133.

Source: llama_sample_xtc_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.parameters import float32, size, uint32
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.xtc import drop_top_choices


class XtcB6133:
    name = "xtc"

    def __init__(self, old: Old, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        self.old = old
        self.p = float32("p", p)
        self.t = float32("t", t)
        self.min_keep = size("min_keep", min_keep)
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)

    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or self.t > 0.5 or len(cand) < 2:
            return
        if self.rng.uniform_float() > self.p:
            return
        sort(cand, self.old)
        drop_top_choices(cand, self.t, self.min_keep)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng.seed(self.seed)

    def clone(self) -> "XtcB6133":
        twin = XtcB6133(self.old, self.p, self.t, self.seed, self.min_keep)
        twin.rng = self.rng.clone()
        return twin
