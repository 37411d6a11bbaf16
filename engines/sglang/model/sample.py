"""sglang_sample: softmax, top-k, top-p and min-p of the same probabilities, a draw by a hash.

    p = softmax(logits / temperature), by rank, the largest first
    p = 0 from rank top_k on;  p = 0 if the p before it sum to more than top_p

    u = murmur3(seed's low word, its high word, position, column) / (2**32 - 1)
    selected = argmax of log(p) - log(-log(u)), in double; log(u) at most -2**-32

The column is the rank; it is the id where top_k and top_p are off, another draw of the same seed.

Parameters:
    seed         integer of 64 bits with a sign (sampling_seed).
    temperature  float32; from 0 to 1e-6 greedy: the first of the largest logits. Default 1.
    top_k        -1 and 2**30 are off, 1 is greedy, 0 and below -1 are refused; what is beyond the
                 vocabulary cuts nothing. Default -1.
    top_p        above 0, at most 1 (off); default 1.
    min_p        in 0..1; default 0 (off). Above 0 a seed is refused: SGLang asserts that there is
                 none.
Ties: as torch's sort leaves them, libstdc++'s: up to 16 tokens the lower id first.
Edges: the token that crosses top_p stays, and one whose sum before it equals top_p. top_p counts
    tokens that top_k removed as 0, but does not renormalize the others. The p shown is not divided
    by its sum; a greedy request shows 1 for its token. Each draw has the next position, from 0 on.
Source: Sampler.forward, top_k_top_p_min_p_sampling_from_probs_torch and multinomial_with_seed,
    sglang/srt/layers/sampler.py at 0.5.23; murmur_hash32_kernel,
    sglang/kernels/ops/sampling/murmur_hash.py; SamplingParams, sglang/srt/sampling/.
Suite: engines/sglang/suites/sglang/sglang_sample.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.murmur3 import finished, mixed
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.shared.torch_cpu import cumsum, descending, softmax
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, int32, integer, real

GREEDY_BELOW = 1e-6  # _SAMPLING_EPS
TOP_K_ALL = 1 << 30


class SglangSample(Copied):
    name = "sglang_sample"

    def __init__(
        self,
        seed: Any,
        temperature: Any = 1.0,
        top_k: Any = -1,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
    ) -> None:
        self.seed = integer("seed", seed, -(2**63), 2**63 - 1)
        self.temperature = float32("temperature", temperature)
        self.top_k = int32("top_k", top_k)
        self.top_p, self.min_p = float32("top_p", top_p), float32("min_p", min_p)
        if not 0 <= real("temperature", temperature) < np.inf:
            raise ChainError(f"temperature must be 0 or more, got {temperature!r}")
        if real("temperature", temperature) < GREEDY_BELOW:
            self.temperature, self.top_k = np.float32(1), 1
        if self.top_k == TOP_K_ALL:
            self.top_k = -1
        if self.top_k < 1 and self.top_k != -1:
            raise ChainError(f"top_k must be -1 or at least 1, got {top_k!r}")
        if not 0 < real("top_p", top_p) <= 1:
            raise ChainError(f"top_p must be above 0 and at most 1, got {top_p!r}")
        if not 0 <= real("min_p", min_p) <= 1:
            raise ChainError(f"min_p must be in 0..1, got {min_p!r}")
        self.position = 0

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "SGLang")
        position, self.position = self.position, self.position + 1
        if self.top_k == 1:
            cand.selected = floats.first_largest(cand.logits)
            cand.p = (np.arange(n) == cand.selected).astype(cand.logits.dtype)
            return
        if self.min_p > 0:
            raise UndefinedInputError("min_p and a seed: SGLang asserts that there is no seed")
        kind = cand.logits.dtype.type
        p = softmax(cand.logits / kind(self.temperature))
        ranked, weights = np.arange(n), p
        if self.top_k != -1 or self.top_p != 1:
            ranked = descending(p)
            weights = self.filtered(p[ranked])
            logs = floats.log(weights.astype(np.float64))
        else:
            logs = floats.log(weights).astype(np.float64)
        cand.selected = int(ranked[(gumbel(self.seed, position, n) + logs).argmax()])
        cand.p = np.zeros_like(p)
        cand.p[ranked] = weights

    def filtered(self, p: FloatArray) -> FloatArray:
        """Return p after the filters. p: descending."""
        kind = p.dtype.type
        mass = cumsum(p)
        rest = p.copy()
        if self.top_k > 0:
            rest[self.top_k :] = 0
        rest[mass - rest > kind(self.top_p)] = 0
        return rest

    def reset(self) -> None:
        self.position = 0


def gumbel(seed: int, position: int, n: int) -> NDArray[np.float64]:
    """Return the noise of n columns at a position."""
    columns = np.arange(n, dtype=np.uint32)
    hashed = np.zeros(n, np.uint32)
    for word in (seed % 2**32, (seed >> 32) % 2**32, position, columns):
        hashed = mixed(hashed, np.atleast_1d(np.asarray(word, np.uint32)))
    logs = floats.log(finished(hashed ^ np.uint32(16)).astype(np.float64) / (2**32 - 1))
    noise = -floats.log(-np.clip(logs, np.finfo(np.float64).min, -(2.0**-32)))
    return np.asarray(noise)
