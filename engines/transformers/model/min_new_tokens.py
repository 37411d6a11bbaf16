"""transformers_min_new_tokens: end-of-text is banned until there are min_new_tokens tokens.

    len(output) < min_new_tokens:  logit of every eos_token_id = -inf

Parameters:
    min_new_tokens  integer >= 0; default 0 (off).
    eos_token_id  list of ids; one beyond the vocabulary has no effect.
prompt_length_to_skip of the processor is the prompt's length, as `generate` sets it.
Ties: none; candidates keep their order.
Edges: -inf stays so. If all else is banned, all logits are -inf.
Source: MinNewTokensLengthLogitsProcessor, generation/logits_process.py of
    transformers 5.23.0.
Suite: engines/transformers/suites/origin/transformers.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import size, token_ids


class TransformersMinNewTokens(OfPast):
    name = "transformers_min_new_tokens"

    def __init__(self, min_new_tokens: Any = 0, eos_token_id: Any = ()) -> None:
        self.min_new_tokens = size("min_new_tokens", min_new_tokens)
        self.eos_token_id = token_ids("eos_token_id", eos_token_id, 2**31)
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "transformers")
        if len(self.past.output) < self.min_new_tokens:
            cand.logits[[token for token in self.eos_token_id if token < n]] = -np.inf
            cand.sorted = False
