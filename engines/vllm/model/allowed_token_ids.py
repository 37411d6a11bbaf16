"""vllm_allowed_token_ids: all but these tokens are banned.

    token not in allowed_token_ids:  logit = -inf

Parameters:
    allowed_token_ids  one or more ids of the vocabulary.
Ties: none; candidates keep their order.
Edges: an allowed token keeps its logit, also -inf and NaN.
Source: Sampler.apply_logits_processors, vllm/v1/sample/sampler.py, and SamplingParams at 0.32.0.
Suite: engines/vllm/suites/origin/vllm.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import token_ids
from sampler_parity.reference.sampler import Stateless


class VllmAllowedTokenIds(Stateless):
    name = "vllm_allowed_token_ids"

    def __init__(self, n_vocab: Any, allowed_token_ids: Any) -> None:
        self.allowed_token_ids = token_ids("allowed_token_ids", allowed_token_ids, n_vocab)
        if not self.allowed_token_ids:
            raise ChainError("allowed_token_ids must name a token")

    def apply(self, cand: Candidates) -> None:
        banned = np.ones(size_of_vocabulary(cand, "vLLM"), bool)
        banned[self.allowed_token_ids] = False
        cand.logits[banned] = -np.inf
        cand.sorted = False
