"""transformers_sequence_bias: a bias on the last token of a sequence whose others have just come.

    prompt + output ends in sequence[:-1]:  bias of sequence[-1] += bias
    logit += bias of the token, 0 without one

Parameters:
    sequence_bias  list of (sequence, bias), not empty: a list of one or more ids of the vocabulary,
                   a float32, which may be -inf or inf. If a sequence comes twice the last counts.
Ties: none; candidates keep their order.
Edges: prompt and output are one text: a sequence may begin in the prompt. -0.0 becomes 0.0, because
    0 is added. +inf on -inf is NaN. A sequence longer than the text plus one token has no effect.
    Biases of several sequences on a token are summed in float32: that of the token alone first,
    then by the length of the sequence in the order in which the lengths come.
Source: SequenceBiasLogitsProcessor, generation/logits_process.py of transformers 5.23.0.
Suite: engines/transformers/suites/origin/transformers.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import bias, token_ids


class TransformersSequenceBias(OfPast):
    name = "transformers_sequence_bias"

    def __init__(self, n_vocab: Any, sequence_bias: Any) -> None:
        if not isinstance(sequence_bias, list | tuple) or not sequence_bias:
            raise ChainError(f"sequence_bias must be a list of [ids, bias], got {sequence_bias!r}")
        biases: dict[tuple[int, ...], np.float32] = {}
        for pair in sequence_bias:
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not pair[0]:
                raise ChainError(f"sequence_bias must hold pairs [ids, bias], got {pair!r}")
            biases[tuple(token_ids("sequence", pair[0], n_vocab))] = bias("bias", pair[1])
        lengths = list(dict.fromkeys(len(sequence) for sequence in biases))
        lengths.sort(key=lambda length: length > 1)  # the rest keep their order
        self.biases = [(s, b) for length in lengths for s, b in biases.items() if len(s) == length]
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "transformers")
        kind = cand.logits.dtype.type
        text, total = tuple(self.past.text), np.zeros(n, kind)
        for (*begun, last), value in self.biases:
            if len(begun) <= len(text) and tuple(begun) == text[len(text) - len(begun) :]:
                total[last] += kind(value)
        cand.logits = cand.logits + total
        cand.sorted = False
