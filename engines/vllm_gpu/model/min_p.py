"""vllm_gpu_min_p: logits below the largest + log(min_p) are banned.

    logit < max(logits) + log(min_p):  logit = -inf

No probability is formed, unlike in the first runner (vllm_min_p).

Parameters:
    min_p  float32 in 0..1; 0 is off.
Ties: a logit equal to the threshold stays; the threshold is rounded to float32.
Edges: a greedy request has none.
Source: _min_p_kernel, vllm/v1/worker/gpu/sample/min_p.py 9-45 at 0.32.0.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.min_p import VllmMinP
from sampler_parity.reference.candidates import Candidates


class VllmGpuMinP(VllmMinP):
    name = "vllm_gpu_min_p"

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0 or self.min_p == 0:  # 20
            return
        threshold = cand.logits.max() + np.log(self.min_p)  # 32-35
        cand.logits[cand.logits < threshold] = -np.inf  # 44
        cand.sorted = False
