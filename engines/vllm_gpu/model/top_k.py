"""vllm_gpu_top_k: all but the k largest logits are banned.

Parameters:
    top_k  integer; 0, -1 and the size of the vocabulary or more are off.
Ties: of equal logits at the cut those with the lowest ids stay, so that k tokens stay: the first
    runner keeps them all (vllm_top_k). Logits nearer than 1e-9 count as equal.
Edges: a greedy request has none. A row with k finite logits or fewer stays as it is, and so does
    one whose finite logits are all equal: no pivot lies between them.
Source: _topk_topp_kernel, vllm/v1/sample/ops/topk_topp_triton.py 107-389 and 852-875;
    SamplingStates.add_request, vllm/v1/worker/gpu/sample/states.py 49-51, at 0.32.0.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.top_k import VllmTopK
from sampler_parity.reference.candidates import Candidates


class VllmGpuTopK(VllmTopK):
    name = "vllm_gpu_top_k"

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0 or not 0 < self.top_k < n:  # states.py 49
            return
        finite = cand.logits[cand.logits > -np.inf]
        if len(finite) <= self.top_k or finite.max() == finite.min():  # 389, 852
            return
        by_rank = (-cand.logits).argsort(kind="stable")  # 865-872: of equal ones the first stay
        cand.logits[by_rank[self.top_k :]] = -np.inf  # 874
        cand.sorted = False
