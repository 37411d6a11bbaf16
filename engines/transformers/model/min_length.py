"""transformers_min_length: end-of-text is banned until prompt and output have min_length tokens.

    len(prompt + output) < min_length:  logit of every eos_token_id = -inf

Parameters:
    min_length  integer >= 0; default 0 (off).
    eos_token_id  list of ids; one beyond the vocabulary has no effect.
Counts the prompt: a prompt of min_length tokens or more switches it off.
Ties: none; candidates keep their order.
Edges: -inf stays so. If all else is banned, all logits are -inf.
Source: MinLengthLogitsProcessor, generation/logits_process.py of
    transformers 5.23.0.
Suite: engines/transformers/suites/origin/transformers.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import size, token_ids


class TransformersMinLength(OfPast):
    name = "transformers_min_length"

    def __init__(self, min_length: Any = 0, eos_token_id: Any = ()) -> None:
        self.min_length = size("min_length", min_length)
        self.eos_token_id = token_ids("eos_token_id", eos_token_id, 2**31)
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "transformers")
        if len(self.past.text) < self.min_length:
            cand.logits[[token for token in self.eos_token_id if token < n]] = -np.inf
            cand.sorted = False
