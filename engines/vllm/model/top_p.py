"""vllm_top_p: the least likely tokens that together have no more than 1 - top_p are banned.

    ascending:  p = softmax(logits);   p_1 + ... + p_i <= 1 - top_p:  logit_i = -inf

The sum is double, each step rounded to float32; 1 - top_p is float32. The last always stays.

Parameters:
    top_p  float32 in 0..1, above 0; 1 is off.
Ties: torch's sort, which is not stable, decides which of equal tokens stay at the cut; here those
    with the highest ids.
Edges: a greedy request has none.
Source: apply_top_k_top_p_pytorch, vllm/v1/sample/ops/topk_topp_sampler.py at 0.32.0.
Suite: engines/vllm/suites/vllm/vllm_stages.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.sampler import Stateless


class VllmTopP(Stateless):
    name = "vllm_top_p"

    def __init__(self, top_p: Any) -> None:
        self.top_p = float32("top_p", top_p)
        if not 0 < self.top_p <= 1:
            raise ChainError(f"top_p must be above 0 and at most 1, got {top_p!r}")

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0 or self.top_p == 1:
            return
        kind = cand.logits.dtype.type
        order = cand.logits.argsort(kind="stable")
        mass = softmax(cand.logits[order]).cumsum(dtype=np.float64).astype(kind)
        banned = mass <= kind(1) - kind(self.top_p)
        banned[-1] = False
        cand.logits[order[banned]] = -np.inf
        cand.sorted = False
