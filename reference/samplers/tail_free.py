"""tail_free: cut where the sorted probabilities stop bending. Removed from llama.cpp.

    d_i = |(p_i - p_{i+1}) - (p_{i+1} - p_{i+2})|, normalized to sum 1
    keep the first i candidates, i the first with d_0 + ... + d_i > z and i >= min_keep

Parameters:
    `z`         float32. 1 and above disable the sampler.
    `min_keep`  Smallest number of tokens to keep. Default 0: then it may remove all tokens.
Ties: the order of `std::sort` over all candidates.
Edges: the index of the crossing is used as the size. So the result is one token shorter than the
    published method, and empty if the first d alone exceeds z. If the sum of all d is below 1e-6,
    they count as equal. With one or two candidates nothing happens. NaN: refused.
Source: `llama_sampler_tail_free_apply`, src/llama-sampling.cpp at b3889; Bricken 2019, "Tail Free
    Sampling".
Suite: suites/removed/tail_free.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size
from sampler_parity.reference.sampler import Stateless
from sampler_parity.reference.samplers.softmax import sort_and_normalize


class TailFree(Stateless):
    name = "tail_free"

    def __init__(self, z: Any, min_keep: Any = 0) -> None:
        self.z = float32("z", z)
        self.min_keep = size("min_keep", min_keep)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        if self.z >= 1 or len(cand) <= 2:
            return
        sort_and_normalize(cand)
        kind = cand.p.dtype.type
        slope = cand.p[:-1] - cand.p[1:]
        bend = abs(slope[:-1] - slope[1:])
        total = floats.total(bend)
        if total > kind(np.float32(1e-6)):
            bend = bend / total
        else:
            bend = np.full_like(bend, kind(1) / kind(len(bend)))
        over = floats.running_sum(bend) > self.z
        over[: self.min_keep] = False
        if over.any():
            cand.keep(slice(int(over.argmax())))
