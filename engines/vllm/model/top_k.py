"""vllm_top_k: logits below the k-th largest are banned.

Parameters:
    top_k  integer; 0, -1 and the size of the vocabulary or more are off.
Ties: all that equal the k-th stay, more than k.
Edges: a greedy request has none.
Source: apply_top_k_top_p, vllm/v1/sample/ops/topk_topp_sampler.py; InputBatch.add_request,
    vllm/v1/worker/gpu_input_batch.py, at 0.32.0.
Suite: engines/vllm/suites/vllm/vllm_stages.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.sampler import Stateless


class VllmTopK(Stateless):
    name = "vllm_top_k"

    def __init__(self, top_k: Any) -> None:
        self.top_k = int32("top_k", top_k)
        if self.top_k < -1:
            raise ChainError(f"top_k must be -1, 0 or more, got {top_k!r}")

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0 or not 0 < self.top_k < n:
            return
        kth = np.partition(cand.logits, n - self.top_k)[n - self.top_k]
        cand.logits[cand.logits < kth] = -np.inf
        cand.sorted = False
