"""mirostat_v2: remove the tokens with a surprise above mu, draw, and move mu towards tau.

    cut at the first sorted i with -log2 p_i > mu (one token always stays);   draw from the rest
    mu -= eta * (-log2 p_selected - tau)

`p_selected` is normalized over the remaining tokens. mu starts at 2 tau. Everything is float32. The
draw is `std::discrete_distribution`.

Parameters:
    `seed`  uint32. 4294967295 takes a random seed.
    `tau`   float32, target surprise in bits. Default 5.
    `eta`   float32, learning rate. Default 0.1.
Ties: the order of llama.cpp's sort.
Edges: with one candidate there is no random draw. p = 0 has infinite surprise and is removed. All
    -inf: NaN, nothing is cut, the first candidate after the sort is selected, and mu stays NaN
    until reset. A NaN logit: refused. No candidates: refused (llama.cpp aborts).
Source: `llama_sampler_mirostat_v2_apply`, src/llama-sampler.cpp at v0.5.0; Basu et al. 2020,
    arXiv:2007.14966.
Suite: suites/parity/mirostat_v2.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, uint32
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.mirostat import draw_and_steer


class MirostatV2:
    name = "mirostat_v2"

    def __init__(self, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        self.seed = uint32("seed", seed)
        self.tau = float32("tau", tau)
        self.eta = float32("eta", eta)
        self.rng = Mt19937(self.seed)
        self.mu: Any = self._first_mu()

    @floats.quiet
    def _first_mu(self) -> Any:
        return np.float32(2) * self.tau

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        kind = cand.logits.dtype.type
        cand.softmax(sort=True)
        surprising = -floats.log2(cand.p) > kind(self.mu)
        if surprising.any():
            cand.keep(slice(max(1, int(surprising.argmax()))))
        cand.softmax(sort=True)
        self.mu = draw_and_steer(cand, self.rng, self.mu, self.tau, self.eta)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.mu = self._first_mu()
        self.rng.seed(self.seed)

    def clone(self) -> "MirostatV2":
        twin = MirostatV2(self.seed, self.tau, self.eta)
        twin.mu = self.mu
        twin.rng = self.rng.clone()
        return twin
