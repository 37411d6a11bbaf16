"""top_p (nucleus): keep the smallest set of most likely tokens whose mass reaches p.

    keep the first i + 1 sorted candidates, i the first with p_0 + ... + p_i >= p
    and i + 1 >= min_keep

The probabilities are normalized over the given candidates. The running sum is float32. The token
that crosses p is kept. The probabilities that are written stay normalized over the set before the
cut.

Parameters:
    `p`         float32. 1 and above disable the sampler. 0 and below keep one token (or
                `min_keep`).
    `min_keep`  Smallest number of tokens to keep. Default 0 (one token always stays).
Ties: the order of the sort. Up to 1024 unsorted candidates are sorted in place. Above that the
    bucket sort sorts the 256 largest first, and all of them if these do not reach p.
Edges: -inf has p = 0. All -inf gives NaN: the sum never reaches p and all stay. `min_keep` > n
    keeps all. By rounding, the sum of all may stay below p: then all stay. NaN: refused. No
    candidates: refused (llama.cpp aborts).
Source: `llama_sampler_top_p_apply`, src/llama-sampler.cpp at v0.5.0; Holtzman et al. 2019,
    arXiv:1904.09751.
Suite: suites/parity/top_p.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size
from sampler_parity.reference.sampler import Stateless


class TopP(Stateless):
    name = "top_p"

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        self.p = float32("p", p)
        self.min_keep = size("min_keep", min_keep)

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        cand.softmax(sort=False)
        if not cand.sorted and len(cand) > 1024:
            order = cand.order_of_largest(256)
            n = self._cut(cand.p[order])
            if n is None:
                order = cand.order_of_largest(len(cand))
                n = self._cut(cand.p[order])
            cand.keep(order[:n])
            cand.sorted = True
            return
        if not cand.sorted:
            cand.partial_sort(len(cand))
        cand.keep(slice(self._cut(cand.p)))

    def _cut(self, p: floats.FloatArray) -> int | None:
        """Return how many to keep of candidates in descending order; None if p is not reached."""
        mass = floats.running_sum(p)
        enough = (mass >= self.p) & (np.arange(1, len(p) + 1) >= self.min_keep)
        return int(enough.argmax()) + 1 if enough.any() else None
