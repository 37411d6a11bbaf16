"""lmdeploy_penalty: the repetition penalty, over the tokens generated so far.

    logit * repetition_penalty  if logit < 0,  logit / repetition_penalty if not

Parameters:
    repetition_penalty  float32; 1 is off, and so is 0 or less, with a warning.
Ties: none. Edges: the prompt does not count; a token counts once. -inf stays -inf. In a batch a row
    with fewer tokens than another is filled with the BOS token, which is then penalized: finding 66
    of docs/findings.md. A token beyond the vocabulary is refused.
Source: _process_repetition_penalty_, lmdeploy/pytorch/engine/logits_process.py 59-65;
    SamplingParam.from_gen_config, lmdeploy/pytorch/messages.py 127-130, at 0.18.0.
Suite: engines/lmdeploy/suites/lmdeploy/lmdeploy_logits.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import float32


class LmdeployPenalty(OfPast):
    name = "lmdeploy_penalty"

    def __init__(self, repetition_penalty: Any) -> None:
        self.repetition_penalty = float32("repetition_penalty", repetition_penalty)
        if self.repetition_penalty <= 0:
            self.repetition_penalty = np.float32(1)  # messages.py 127
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "lmdeploy")
        seen = np.unique(np.array(self.past.output, np.int64))  # 61
        if self.repetition_penalty == 1 or len(seen) == 0:  # sampling.py 147
            return
        if not 0 <= seen[0] <= seen[-1] < n:
            raise UndefinedInputError(f"a token in a vocabulary of {n}: torch refuses")
        score, penalty = cand.logits[seen], cand.logits.dtype.type(self.repetition_penalty)
        cand.logits[seen] = np.where(score < 0, score * penalty, score / penalty)  # 63
        cand.sorted = False
