"""sglang_penalties: frequency, presence, a minimum of tokens, then repetition, over the output.

For every token, in this order:

    logit += -(frequency_penalty * how often) - (presence_penalty * (1 if it is in the output))
    logit += -inf  if it is a stop id and len(output) < min_new_tokens
    if in the output:  logit * repetition_penalty  if logit < 0,  logit / repetition_penalty if not

The additions are summed first and added once, all in float32, the frequency token by token.

Parameters:
    frequency_penalty:  float32 in -2..2; default 0 (off).
    presence_penalty:   float32 in -2..2; default 0 (off).
    repetition_penalty: float32 above 0, at most 2; default 1 (off).
    min_new_tokens:     integer >= 0; default 0 (off).
    stop_token_ids:     ids in the vocabulary: the model's and the request's own.
Ties: none to break; candidates keep their order.
Edges: the prompt does not count. No window. -inf stays -inf; 0 is divided. A token beyond the
    vocabulary is refused.
Source: SamplingBatchInfo.update_penalties and apply_logits_bias,
    sglang/srt/sampling/sampling_batch_info.py, and sglang/srt/sampling/penaltylib at 0.5.23, as
    the scheduler has them called, on a copy of the batch (copy_for_forward).
Suite: engines/sglang/suites/sglang/sglang_penalties.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.openai_range import penalty_in_range
from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32, size, token_ids


class SglangPenalties(OfPast):
    name = "sglang_penalties"

    def __init__(
        self,
        n_vocab: Any,
        frequency_penalty: Any = 0.0,
        presence_penalty: Any = 0.0,
        repetition_penalty: Any = 1.0,
        min_new_tokens: Any = 0,
        stop_token_ids: Any = (),
    ) -> None:
        self.frequency_penalty = penalty_in_range("frequency_penalty", frequency_penalty)
        self.presence_penalty = penalty_in_range("presence_penalty", presence_penalty)
        self.repetition_penalty = float32("repetition_penalty", repetition_penalty)
        if not 0 < self.repetition_penalty <= 2:
            raise ChainError(f"repetition_penalty must be in (0, 2], got {repetition_penalty!r}")
        self.min_new_tokens = size("min_new_tokens", min_new_tokens)
        self.stop_token_ids = token_ids("stop_token_ids", stop_token_ids, n_vocab)
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "SGLang")
        beyond = [token for token in self.past.output if not 0 <= token < n]
        if beyond:
            raise UndefinedInputError(f"token {beyond[0]} in a vocabulary of {n}: torch refuses")
        kind = cand.logits.dtype.type
        seen = np.array(self.past.output, np.int64)
        frequency, presence = np.zeros(n, kind), np.zeros(n, kind)
        np.add.at(frequency, seen, kind(self.frequency_penalty))
        presence[seen] = kind(self.presence_penalty)
        added = kind(0) - frequency - presence
        if len(seen) < self.min_new_tokens:
            added[self.stop_token_ids] = -np.inf
        scaling = np.ones(n, kind)
        scaling[seen] = kind(self.repetition_penalty)
        logits = cand.logits + added
        cand.logits = np.where(logits < 0, logits * scaling, logits / scaling)
        cand.sorted = False
