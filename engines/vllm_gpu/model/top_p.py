"""vllm_gpu_top_p: the fewest of the most likely tokens whose mass is top_p or more stay.

    p = softmax(logits), by rank;  the tokens behind the first whose running sum is >= top_p are
    banned

Parameters:
    top_p  float32 above 0, at most 1; 1 is off.
Ties: of equal logits at the cut those with the lowest ids stay. If the cut falls among the least
    likely of all, none is banned: the search has no pivot below them.
Edges: a greedy request has none. The kernel searches a pivot, so that rounding decides a mass near
    top_p. Behind a top-k, and in batches of more than 64 rows, it bans the least likely even where
    they are needed: finding 64 of docs/findings.md. Where a pivot of the search equals a logit up
    to rounding, all that equal it are banned: finding 65.
Source: _topk_topp_kernel, vllm/v1/sample/ops/topk_topp_triton.py 391-606 and 608-875; the kernels
    of small batches without top-k, 998-1513, at 0.32.0.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.engines.vllm.model.top_p import VllmTopP
from sampler_parity.reference.candidates import Candidates


class VllmGpuTopP(VllmTopP):
    name = "vllm_gpu_top_p"

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        finite = cand.logits[cand.logits > -np.inf]
        if cand.selected >= 0 or self.top_p == 1 or len(finite) == 0:  # states.py 94
            return
        by_rank = (-cand.logits).argsort(kind="stable")
        mass = softmax(cand.logits[by_rank]).cumsum(dtype=np.float64)
        needed = int((mass < self.top_p).sum()) + 1  # 573-575, 1151
        if cand.logits[by_rank[min(needed, len(finite)) - 1]] == finite.min():  # 1195-1196, 1257
            return
        cand.logits[by_rank[needed:]] = -np.inf  # 861-874
        cand.sorted = False
