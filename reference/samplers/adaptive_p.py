"""adaptive_p: favour tokens whose probability is near a target, and draw one.

    target' = clamp(2 * target - weighted_sum / total_weight, 0, 1)
    d = |p_i - target'| / 0.3;   logit_i = 5 - 10 d^2 / (1 + d);   p = softmax;   draw
    on accept of the drawn token: weighted_sum = p_original + decay * weighted_sum,
                                  total_weight = 1 + decay * total_weight

The target follows the history. `p_original` is the probability before the transform. The sums
start as target / (1 - decay), of the target as given, and 1 / (1 - decay). It must be the last
stage. Everything is float32. The draw is `std::discrete_distribution`.

Parameters:
    `target`  float32, clamped to 0..1. A negative value disables the transform; softmax and draw
              remain.
    `decay`   float32, of the moving average, clamped to 0..0.99. Default 0.9.
    `seed`    uint32. 4294967295 takes a random seed.
Ties: candidates keep their order; nothing is sorted.
Edges: a logit of -inf is not transformed and stays impossible. With one candidate there is no
    random draw. All -inf: every p is NaN; the draw ends where `std::lower_bound` ends. Accepting
    another token than the drawn one forgets the draw and changes nothing else. A clone starts its
    random stream again from the seed, because llama.cpp does not copy it. A clone made between
    apply and accept has lost the probability to record. It refuses the drawn token (llama.cpp reads
    out of bounds). No candidates: refused (llama.cpp aborts).
Source: `llama_sampler_adaptive_p_apply` and `_accept`, src/llama-sampler.cpp at v0.5.0; llama.cpp
    PR 17927.
Suite: suites/parity/adaptive_p.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import float32, uint32
from sampler_parity.reference.random import Mt19937, discrete

WIDTH = 0.3
PEAK, SHARPNESS = 5, 10
NO_TOKEN = -1


class AdaptiveP:
    name = "adaptive_p"

    def __init__(self, target: Any, seed: Any, decay: Any = 0.9) -> None:
        self.target = float32("target", target)
        self.decay = float32("decay", decay).clip(np.float32(0), np.float32(0.99))
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)
        self.original_p: floats.FloatArray = np.empty(0, np.float32)
        self._forget()

    @floats.quiet
    def _forget(self) -> None:
        one = np.float32(1)
        self.weighted_sum: Any = self.target / (one - self.decay)
        self.total_weight: Any = one / (one - self.decay)
        self.pending_token, self.pending_index = NO_TOKEN, -1

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=False)
        if self.target < 0:
            cand.selected = discrete(self.rng, cand.p)
            return
        kind = cand.p.dtype.type
        self.original_p = cand.p.copy()
        target = kind(self.target).clip(kind(0), kind(1))
        adapted = kind(2) * target - kind(self.weighted_sum) / kind(self.total_weight)
        inverse = kind(1) / kind(WIDTH)
        distance = abs((cand.p - adapted.clip(kind(0), kind(1))) * inverse)
        moved = kind(PEAK) - kind(SHARPNESS) * distance * distance / (kind(1) + distance)
        cand.logits = np.where(cand.logits == -np.inf, cand.logits, moved)
        cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)
        self.pending_token = int(cand.ids[cand.selected])
        self.pending_index = cand.selected

    @floats.quiet
    def accept(self, token: int) -> None:
        if token == self.pending_token:
            if self.pending_index == -1 or self.pending_index >= len(self.original_p):
                raise UndefinedInputError(
                    "adaptive_p was cloned between apply and accept, or accepts token -1 with"
                    " nothing drawn: llama.cpp aborts or reads out of bounds"
                )
            p = self.original_p[self.pending_index]
            kind = type(p)
            decay = kind(self.decay)
            self.weighted_sum = floats.multiply_add(decay, kind(self.weighted_sum), p)
            self.total_weight = floats.multiply_add(decay, kind(self.total_weight), kind(1))
        self.pending_token, self.pending_index = NO_TOKEN, -1

    def reset(self) -> None:
        self._forget()
        self.rng.seed(self.seed)

    def clone(self) -> "AdaptiveP":
        twin = AdaptiveP(self.target, self.seed, self.decay)
        twin.weighted_sum, twin.total_weight = self.weighted_sum, self.total_weight
        twin.pending_token, twin.pending_index = self.pending_token, self.pending_index
        return twin
