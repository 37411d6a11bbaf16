"""vllm_bad_words: the last token of a banned word is banned where the output ends in the others.

    output ends in word[:-1]:  logit of word[-1] = -inf

Only the output is searched: a word that begins in the prompt is not found (transformers finds it:
engines/transformers/model/no_bad_words.py).

Parameters:
    bad_words_token_ids  words, each a list of one or more ids of the vocabulary. (vLLM makes two of
                         a text, with and without a leading space.)
Ties: none; candidates keep their order.
Edges: a word of one token is banned everywhere, one longer than the output plus a token nowhere.
Source: apply_bad_words, vllm/v1/sample/ops/bad_words.py at 0.32.0.
Suite: engines/vllm/suites/origin/vllm.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import token_sequences


class VllmBadWords(OfPast):
    name = "vllm_bad_words"

    def __init__(self, n_vocab: Any, bad_words_token_ids: Any = ()) -> None:
        self.words = token_sequences("bad_words_token_ids", bad_words_token_ids, n_vocab)
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        output = self.past.output
        for *begun, last in self.words:
            if begun == output[len(output) - len(begun) :] and len(begun) <= len(output):
                cand.logits[last] = -np.inf
                cand.sorted = False
