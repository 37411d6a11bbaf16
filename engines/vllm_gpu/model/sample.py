"""vllm_gpu_sample: the token of the largest logit + Gumbel noise, both float32.

    selected = argmax of logit_i + noise(seed, position, i)      (model/noise.py)

The position is that of the last token: the number of tokens so far, less one.

Parameters:
    seed  uint32. 4294967295 takes a random one of 64 bits (a request without a seed).
Ties: the first.
Edges: -inf is never selected; if all are, 0 is. A request at temperature 0 has selected already.
    A draw that is repeated behind the same tokens has the same noise: there is no generator.
Source: Sampler._sample_random, vllm/v1/worker/gpu/sample/sampler.py 327-356;
    _gumbel_sample_kernel and gumbel_sample, vllm/v1/worker/gpu/sample/gumbel.py 274-409, at 0.32.0.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.engines.vllm_gpu.model.noise import gumbel
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import uint32


class VllmGpuSample(OfPast):
    name = "vllm_gpu_sample"

    def __init__(self, seed: Any) -> None:
        self.seed = int(uint32("seed", seed))
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0:
            return
        noise = gumbel(self.seed, len(self.past.text) - 1, np.arange(n))  # 258-261
        cand.selected = int((cand.logits.astype(np.float32) + noise).argmax())  # 203-205, 407
