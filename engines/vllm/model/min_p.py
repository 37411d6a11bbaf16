"""vllm_min_p: tokens less likely than min_p times the largest probability are banned.

    p = softmax(logits);   p_i < max(p) * min_p:  logit = -inf

Parameters:
    min_p  float32 in 0..1; 0 is off.
Ties: a p equal to the threshold stays.
Edges: a greedy request has none.
Source: MinPLogitsProcessor.apply, vllm/v1/sample/logits_processor/builtin.py at 0.32.0.
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


class VllmMinP(Stateless):
    name = "vllm_min_p"

    def __init__(self, min_p: Any) -> None:
        self.min_p = float32("min_p", min_p)
        if not 0 <= self.min_p <= 1:
            raise ChainError(f"min_p must be in 0..1, got {min_p!r}")

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        if cand.selected >= 0 or self.min_p == 0:
            return
        p = softmax(cand.logits)
        cand.logits[p < p.max() * p.dtype.type(self.min_p)] = -np.inf
        cand.sorted = False
