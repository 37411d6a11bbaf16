"""top_n_sigma: mask the tokens more than n standard deviations below the largest logit.

    logit_i = -inf   if logit_i < max - n * std

Mean and (population) standard deviation are over the logits that are not -inf. They are float32
sums in sequence; the squares are float64.

Parameters:
    `n`  float32, standard deviations. 0 and below disable the sampler.
Ties: equal logits all stay, or are all masked.
Edges: nothing is removed, only masked; order, p and `sorted` stay. With one candidate or none
    nothing happens. All -inf: nothing changes. NaN or +inf makes the statistics NaN: then no
    further logit is masked.
Source: `llama_sampler_top_n_sigma_apply`, src/llama-sampler.cpp at v0.5.0; Tang et al. 2024,
    arXiv:2411.07641.
Suite: suites/parity/top_n_sigma.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.sampler import Stateless


class TopNSigma(Stateless):
    name = "top_n_sigma"

    def __init__(self, n: Any) -> None:
        self.n = float32("n", n)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        if self.n <= 0 or len(cand) <= 1:
            return
        self._mask(cand, cand.logits[cand.logits != -np.inf])

    def _mask(self, cand: Candidates, valid: floats.FloatArray) -> None:
        """Mask by the mean and deviation of the valid logits."""
        if len(valid) == 0:
            return
        kind = cand.logits.dtype.type
        top = floats.largest(valid, cand.logits[0])
        mean = floats.total(valid) / kind(len(valid))
        variance = floats.total_of_squares(valid, mean) / kind(len(valid))
        threshold = floats.multiply_add(-kind(self.n), np.sqrt(variance), top)
        floats.mask_below(cand.logits, threshold)
