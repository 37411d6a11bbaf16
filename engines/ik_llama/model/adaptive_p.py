"""llama_prep_adaptive_p, llama_sample_adaptive_p and llama_sample_token_adaptive_p of ik_llama.cpp
as one stage; the average is of the current p (updt_w_cur).

    e_i     = exp(logit_i - max), sum in float32; p becomes e

    target' = clamp(2 * target - weighted_sum / total_weight, 0, 1)
    d_i     = |e_i * ((1 / 0.3) / sum) - target' * (1 / 0.3)|
    logit_i = 5 - 10 * d_i * d_i / (1 + d_i)

    draw:   from exp(logit_i - max), the last running sum raised by 1
    then:   weighted_sum = decay * weighted_sum + e / sum,  total_weight = decay * total_weight + 1

Unlike llama.cpp: a logit of -inf becomes finite like any token of p = 0, so tokens that a grammar
or a bias has banned can be drawn. The average moves with the draw and not with accept. There is no
clone.

Parameters:
    target  float32 >= 0; below 0 the sampler is off and nothing selects: left out here.
    decay   float32, cut to 0..0.99.
    seed    of std::mt19937, 0xFFFFFFFF too.
Edges: NaN or +inf, and nothing but -inf: the process ends.
Source: src/llama-sampling.cpp of ik_llama.cpp at 55d3c05.
Suite: engines/ik_llama/suites/ik_llama/ik_functions.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.ik_llama.model.draws import walk
from sampler_parity.engines.shared.copied import Copied
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32, uint32
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.adaptive_p import PEAK, SHARPNESS, WIDTH


class IkAdaptiveP(Copied):
    name = "ik_llama_adaptive_p"

    def __init__(self, target: Any, seed: Any, decay: Any = 0.9) -> None:
        self.target = float32("target", target)
        if self.target < 0:
            raise ChainError(f"target must be at least 0, got {target!r}")
        self.decay = float32("decay", decay).clip(np.float32(0), np.float32(0.99))
        self.seed = uint32("seed", seed)
        self.reset()

    def reset(self) -> None:
        one = np.float32(1)
        self.weighted_sum: Any = self.target / (one - self.decay)
        self.total_weight: Any = one / (one - self.decay)
        self.rng = Mt19937(0)
        self.rng.seed_exactly(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if len(cand) == 0:
            raise UndefinedInputError("adaptive_p of no candidates (ik_llama.cpp aborts)")
        kind = cand.logits.dtype.type
        cand.p = floats.exp_of_difference(cand.logits, cand.max_logit())
        total = floats.total(cand.p)
        target = kind(self.target).clip(kind(0), kind(1))
        average = kind(self.weighted_sum) / kind(self.total_weight)
        target = (kind(2) * target - average).clip(kind(0), kind(1))
        width = kind(1) / kind(WIDTH)
        d = abs(cand.p * (width / total) - target * width)
        cand.logits = kind(PEAK) - kind(SHARPNESS) * d * d / (kind(1) + d)
        cand.sorted = False
        weights = floats.exp_of_difference(cand.logits, floats.largest(cand.logits))
        cand.selected = walk(cand, weights, 1, self.rng)
        share = cand.p[cand.selected] / total
        if share > 0:
            decay = kind(self.decay)
            self.weighted_sum = decay * kind(self.weighted_sum) + share
            self.total_weight = decay * kind(self.total_weight) + kind(1)
