"""xtc (exclude top choices): with a certain probability, keep only the least likely top token.

    u <= p:  of the sorted candidates with p_i >= t only the last stays, with all below t

Parameters:
    `p`         float32, the probability that it acts at a step. 0 and below disable the sampler.
    `t`         float32, the smallest probability of a top choice. A value above 0.5 disables the
                sampler.
    `min_keep`  If fewer tokens than this would stay, nothing is removed. Default 0.
    `seed`      uint32. 4294967295 takes a random seed.
Ties: the order of llama.cpp's sort. The last of equal top tokens in that order stays.
Edges: with fewer than two candidates, or if it is disabled, nothing is drawn. Otherwise every step
    draws one uniform float, which is one word of mt19937. Only if u <= p are candidates sorted and
    p written. NaN: refused, by the sort.
Source: `llama_sample_xtc_apply`, src/llama-sampler.cpp at v0.5.0; oobabooga/text-generation-webui
    PR 6335.
Suite: suites/parity/xtc.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, size, uint32
from sampler_parity.reference.random import Mt19937


class Xtc:
    name = "xtc"

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
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
        drop_top_choices(cand, self.t, self.min_keep)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng.seed(self.seed)

    def clone(self) -> "Xtc":
        twin = Xtc(self.p, self.t, self.seed, self.min_keep)
        twin.rng = self.rng.clone()
        return twin


def drop_top_choices(cand: Candidates, t: np.float32, min_keep: int) -> None:
    """Apply the effect of `llama_sample_xtc_apply`, which older releases share."""
    cand.softmax(sort=True)
    drop_sorted_top(cand, t, min_keep)


def drop_sorted_top(cand: Candidates, t: np.float32, min_keep: int) -> None:
    below = ~(cand.p >= t)
    n_top = int(below.argmax()) if below.any() else len(cand)
    last_top = max(0, n_top - 1)
    if last_top > 0 and len(cand) - last_top >= min_keep:
        cand.keep(slice(last_top, None))
