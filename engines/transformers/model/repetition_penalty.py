"""transformers_repetition_penalty: tokens of prompt and output, once each.

For every token that is in (prompt + output)[prompt_ignore_length:], however often:

    logit = logit * penalty  if logit < 0  else  logit / penalty

Parameters:
    penalty               float32 > 0, factor; default 1 (off).
    prompt_ignore_length  integer >= 0: so many of the first tokens do not count; default 0.
                          `generate` gives the row's padding on the left, so that no padding token
                          of a batch is penalized.
Ties: none to break; candidates keep their order.
Edges: -inf stays -inf, 0 and NaN take the division. Ids from the vocabulary's size on have no
    effect, negative ones are refused. prompt_ignore_length beyond the prompt passes over output.
Source: RepetitionPenaltyLogitsProcessor, generation/logits_process.py of transformers 5.23.0;
    Keskar et al. 2019, arXiv:1909.05858 (there without the sign rule).
Suite: engines/transformers/suites/origin/transformers.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32, size


class TransformersRepetitionPenalty(OfPast):
    name = "transformers_repetition_penalty"

    def __init__(self, penalty: Any = 1.0, prompt_ignore_length: Any = 0) -> None:
        self.penalty = float32("penalty", penalty)
        if self.penalty <= 0:
            raise ChainError(f"penalty must be above 0, got {penalty!r}")
        self.prompt_ignore_length = size("prompt_ignore_length", prompt_ignore_length)
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "transformers")
        if self.penalty == 1:
            return
        seen = sorted(set(self.past.text[self.prompt_ignore_length :]))
        if seen and seen[0] < 0:
            raise UndefinedInputError(f"token {seen[0]}: torch gathers no negative index")
        tokens = [token for token in seen if token < n]
        penalty = cand.logits.dtype.type(self.penalty)
        old = cand.logits[tokens]
        cand.logits[tokens] = np.where(old < 0, old * penalty, old / penalty)
        cand.sorted = False
