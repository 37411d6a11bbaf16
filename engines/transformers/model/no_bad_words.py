"""transformers_no_bad_words: a sequence bias of -inf on every banned word.

    prompt + output ends in word[:-1]:  logit of word[-1] += -inf

Prompt and output are one text: a word may begin in the prompt (vLLM searches the output alone:
engines/vllm/model/bad_words.py).

Parameters:
    bad_words_ids  words, at least one, each a list of one or more ids of the vocabulary.
    eos_token_id   list of ids: a word that is one of them alone is left out, so end-of-text cannot
                   be banned. No word left: refused.
Ties: none; candidates keep their order.
Edges: +inf becomes NaN, -0.0 becomes 0.0, as with any bias.
Source: NoBadWordsLogitsProcessor, generation/logits_process.py of transformers 5.23.0.
Suite: engines/transformers/suites/origin/transformers.toml
"""

import math
from copy import copy
from typing import Any

from sampler_parity.engines.transformers.model.sequence_bias import TransformersSequenceBias
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import token_ids, token_sequences


class TransformersNoBadWords:
    name = "transformers_no_bad_words"

    def __init__(self, n_vocab: Any, bad_words_ids: Any, eos_token_id: Any = ()) -> None:
        words = token_sequences("bad_words_ids", bad_words_ids, n_vocab)
        ends = token_ids("eos_token_id", eos_token_id, 2**31)
        banned = [word for word in words if word not in [[end] for end in ends]]
        if not banned:
            raise ChainError("bad_words_ids has no word that is no end-of-text token")
        self.bias = TransformersSequenceBias(n_vocab, [[word, -math.inf] for word in banned])

    def apply(self, cand: Candidates) -> None:
        self.bias.apply(cand)

    def accept(self, token: int) -> None:
        self.bias.accept(token)

    def accept_prompt(self, token: int) -> None:
        self.bias.accept_prompt(token)

    def reset(self) -> None:
        self.bias.reset()

    def clone(self) -> "TransformersNoBadWords":
        twin = copy(self)
        twin.bias = self.bias.clone()
        return twin
