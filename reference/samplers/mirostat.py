"""mirostat (v1): choose k so that the surprise of the drawn tokens stays near tau, then draw.

    s = sum t_i b_i / sum t_i^2   over the first m - 1 pairs
    t_i = log((i + 2) / (i + 1));   b_i = log(p_i / p_{i+1})

    e = s - 1;   k = (e * 2^mu / (1 - n_vocab^-e)) ^ (1 / s);   keep the top k, draw from them

    mu -= eta * (-log2 p_selected - tau)

mu starts at 2 tau. Everything is float32, with `powf`. The draw is `std::discrete_distribution`.

Parameters:
    `seed`     uint32. 4294967295 takes a random seed.
    `tau`      float32, target surprise in bits. Default 5.
    `eta`      float32, learning rate. Default 0.1.
    `m`        int32, candidates used for s. Default 100. 0 and below use all.
    `n_vocab`  int32, vocabulary size. `build_chain` gives it if the specification does not.
Ties: the order of llama.cpp's sort.
Edges: k is rounded towards zero and is at least 1. k may be NaN (one candidate, m = 1), or not fit
    int32 (a large mu; equal logits, for which 1 / s is infinite). The conversion gives `-2**31`
    on x86-64, so k = 1: the sampler turns greedy. With one candidate there is no random draw. All
    -inf: NaN, the first candidate after the sort is selected, and mu stays NaN until reset. A NaN
    logit: refused. No candidates: refused (llama.cpp aborts).
Source: `llama_sampler_mirostat_apply`, src/llama-sampler.cpp at v0.5.0; Basu et al. 2020,
    arXiv:2007.14966.
Suite: suites/parity/mirostat.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32, int32, uint32
from sampler_parity.reference.random import Mt19937, discrete
from sampler_parity.reference.samplers.top_k import keep_most_likely


class Mirostat:
    name = "mirostat"

    def __init__(
        self, seed: Any, n_vocab: Any, tau: Any = 5.0, eta: Any = 0.1, m: Any = 100
    ) -> None:
        self.n_vocab = int32("n_vocab", n_vocab)
        self.seed = uint32("seed", seed)
        self.tau = float32("tau", tau)
        self.eta = float32("eta", eta)
        self.m = int32("m", m)
        self.rng = Mt19937(self.seed)
        self.mu: Any = self._first_mu()

    @floats.quiet
    def _first_mu(self) -> Any:
        return np.float32(2) * self.tau

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        keep_most_likely(cand, max(floats.to_int32(self._k(cand.p)), 1))
        cand.softmax(sort=True)
        self.mu = draw_and_steer(cand, self.rng, self.mu, self.tau, self.eta)

    def _k(self, p: floats.FloatArray) -> Any:
        kind = p.dtype.type
        pairs = min(len(p) - 1, self.m - 1 if self.m > 0 else len(p))
        i = np.arange(pairs)
        t = floats.log((i + 2).astype(kind) / (i + 1).astype(kind))
        b = floats.log(p[:pairs] / p[1 : pairs + 1])
        s = floats.total_of_products(t, b) / floats.total_of_products(t, t)
        e = s - kind(1)
        spread = e * floats.power(kind(2), kind(self.mu))
        return floats.power(spread / (kind(1) - floats.power(kind(self.n_vocab), -e)), kind(1) / s)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.mu = self._first_mu()
        self.rng.seed(self.seed)

    def clone(self) -> "Mirostat":
        twin = Mirostat(self.seed, self.n_vocab, self.tau, self.eta, self.m)
        twin.mu = self.mu
        twin.rng = self.rng.clone()
        return twin


def draw_and_steer(
    cand: Candidates, rng: Mt19937, mu: Any, tau: np.float32, eta: np.float32
) -> Any:
    """Draw by the candidates' p; mu, moved by the surprise observed. mirostat_v2 uses it too."""
    kind = cand.p.dtype.type
    cand.selected = discrete(rng, cand.p)
    surprise = -floats.log2(cand.p[cand.selected])
    return floats.multiply_add(-kind(eta), surprise - kind(tau), kind(mu))
