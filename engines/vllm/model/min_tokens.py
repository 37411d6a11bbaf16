"""vllm_min_tokens: tokens that end the request are banned until min_tokens of output exist.

    len(output) < min_tokens:  logit of every stop id = -inf

Parameters:
    min_tokens      integer >= 0; default 0 (off). The prompt does not count.
    stop_token_ids  ids, each in the vocabulary: the end-of-text tokens of model and generation
                    config (under ignore_eos, too) and the request's own stop ids.
Ties: none; candidates keep their order.
Edges: -inf stays so. If all else is banned all logits are -inf (with structured output vLLM then
    lifts this ban; not here).
Source: MinTokensLogitsProcessor, vllm/v1/sample/logits_processor/builtin.py at 0.32.0.
Suite: engines/vllm/suites/origin/vllm.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import size, token_ids


class VllmMinTokens(OfPast):
    name = "vllm_min_tokens"

    def __init__(self, n_vocab: Any, min_tokens: Any = 0, stop_token_ids: Any = ()) -> None:
        self.min_tokens = size("min_tokens", min_tokens)
        self.stop_token_ids = token_ids("stop_token_ids", stop_token_ids, n_vocab)
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        if len(self.past.output) < self.min_tokens:
            cand.logits[self.stop_token_ids] = -np.inf
            cand.sorted = False
