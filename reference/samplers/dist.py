"""dist: draw a token from the softmax of the candidates.

    p_i = exp(logit_i - max);   selected = the first i with p_0 + ... + p_i >= u * sum(p);
    then p_i /= sum(p)

p is float32. Both sums are float64 and follow the order of the candidates. So this order decides
which token a given u selects. u is one uniform double, made from two words of mt19937.

Parameters:
    `seed`  uint32. 4294967295 (`LLAMA_DEFAULT_SEED`) takes a random seed, a new one at each reset.
Ties: the order of the candidates.
Edges: one candidate is selected with p = 1 and still uses up a draw (since v0.5.0). A logit of -inf
    has p = 0. Only u = 0 can select it, and only if it is the first candidate. All -inf, a +inf or
    a NaN makes every p NaN: no sum is reached, and the last candidate is selected. No candidates:
    selected = -1, no draw.
Source: `llama_sampler_dist_apply`, src/llama-sampler.cpp at v0.5.0 (the branch `#if 1`).
Suite: suites/parity/dist.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import uint32
from sampler_parity.reference.random import Mt19937


class Dist:
    name = "dist"

    def __init__(self, seed: Any) -> None:
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)

    def apply(self, cand: Candidates) -> None:
        draw(cand, self.rng)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng.seed(self.seed)

    def clone(self) -> "Dist":
        twin = Dist(self.seed)
        twin.rng = self.rng.clone()
        return twin


@floats.quiet
def draw(cand: Candidates, rng: Mt19937) -> None:
    """Apply `llama_sampler_dist_apply`, as the dist of older releases does, too."""
    if len(cand) == 0:
        cand.selected = -1
        return
    if len(cand) == 1:
        rng.uniform_double()
        cand.selected = 0
        cand.p = np.ones_like(cand.p)
        return
    p = cand.weights()
    running = floats.running_sum(p, np.float64)
    total = running[-1]
    u = rng.uniform_double()
    first = int(running.searchsorted(total * u))  # the first i with running[i] >= total * u
    cand.selected = len(cand) - 1 if np.isnan(total) else first
    cand.p = np.divide(p, total, out=p, casting="same_kind")
