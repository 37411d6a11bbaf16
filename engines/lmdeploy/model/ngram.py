"""lmdeploy_ngram: the text ends if its last tokens have been generated often enough.

    found = number of places of the last 1,024 generated tokens where the last `size` of them stand,
        their own place among them
    if found >= threshold: every logit is -inf, and that of the first stop token 0

Parameters:
    size            integer; 0 or less is off.
    threshold       integer; 0 or less is off. 1 ends a text of `size` tokens always.
    stop_token_ids  ids in the vocabulary; the first counts. Without one the stage does nothing.
Ties: none. Edges: the prompt does not count. Places may overlap. Equal means the same tokens. The
    engine compares logarithms of ids with a tolerance, and so takes other tokens for equal: finding
    67 of docs/findings.md.
Source: ngram and _filter_repetition_ngram_, lmdeploy/pytorch/engine/logits_process.py 103-220;
    GenerationConfig, lmdeploy/messages.py 215-217 and its __post_init__, at 0.18.0.
Suite: engines/lmdeploy/suites/lmdeploy/lmdeploy_logits.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import int32, token_ids

WINDOW = 1024  # LMDEPLOY_REPETITION_WINDOW_SIZE


class LmdeployNgram(OfPast):
    name = "lmdeploy_ngram"

    def __init__(
        self, n_vocab: Any, size: Any = 0, threshold: Any = 0, stop_token_ids: Any = ()
    ) -> None:
        self.size, self.threshold = int32("size", size), int32("threshold", threshold)
        self.stop_token_ids = token_ids("stop_token_ids", stop_token_ids, n_vocab)
        self.past = Past()

    def found(self) -> int:
        text = self.past.output[-WINDOW:]  # 155-156
        last = text[-self.size :]
        places = range(len(text) - self.size + 1)  # 146: none for a shorter text
        return sum(text[place : place + self.size] == last for place in places)  # 182-190

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "lmdeploy")
        if self.size <= 0 or self.threshold <= 0 or len(self.stop_token_ids) == 0:  # 191, 209
            return
        if self.found() >= self.threshold:  # 191
            cand.logits[:] = -np.inf  # 215
            cand.logits[self.stop_token_ids[0]] = 0  # 213, 218
            cand.sorted = False
