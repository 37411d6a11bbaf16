"""vllm_sample: on a CPU the token of the largest logit + Gumbel noise.

    seed of the draw = second of two words of mt19937, modulo 2**31
    u_i = (53 bits of splitmix64(splitmix64(seed) + (i + 1) * gamma) + 1/2) / 2**53
    selected = argmax of logit_i - log(-log(u_i)), in double

Parameters:
    seed  uint32. 4294967295 takes a random one (a request without a seed).
Ties: the first.
Edges: -inf is never selected; if all are, 0 is. A request at temperature 0 has selected
    already and draws nothing.
Source: TopKTopPSampler.forward_cpu, vllm/v1/sample/ops/topk_topp_sampler.py at 0.32.0;
    fused_gumbel_argmax, csrc/cpu/sampling_kernels.cpp.
Suite: engines/vllm/suites/vllm/vllm_stages.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import uint32
from sampler_parity.reference.random import Mt19937

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class VllmSample(Copied):
    name = "vllm_sample"

    def __init__(self, seed: Any) -> None:
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0:
            return
        seed = int(self.rng.words(2)[1]) % 2**31
        scores = cand.logits.astype(np.float64) + gumbel(seed, n)
        cand.selected = int(scores.argmax())

    def reset(self) -> None:
        self.rng.seed(self.seed)


def gumbel(seed: int, n: int) -> NDArray[np.float64]:
    """Return the noise of n tokens. seed: of one draw."""
    key = mixed(np.array([seed], np.uint64))
    bits = mixed(key + np.arange(1, n + 1, dtype=np.uint64) * _GAMMA) >> np.uint64(11)
    u = (bits.astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(-np.log(u))


def mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the last steps of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
