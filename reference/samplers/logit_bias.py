"""logit_bias: add a constant to the logits of named tokens.

    logit_token += bias

Parameters:
    `logit_bias`  List of (token, bias): int32, float32. The bias may be -inf (a ban) or inf. An
                  empty list disables the sampler.
Ties: there are none to break. The flag `sorted` is not cleared. So after a bias on sorted
    candidates the next stage works on a stale order: put logit_bias first, as llama.cpp does.
Edges: tokens that are no candidate have no effect. A token that is named twice gets both biases
    while the candidates are in vocabulary order (position = id). In any other order it gets only
    the first, because llama.cpp adds in two ways. +inf on -inf gives NaN. No candidates: nothing
    happens.
Source: `llama_sampler_logit_bias_apply`, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/logit_bias.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import bias, int32
from sampler_parity.reference.sampler import Stateless


class LogitBias(Stateless):
    name = "logit_bias"

    def __init__(self, logit_bias: Any) -> None:
        if not isinstance(logit_bias, list | tuple):
            raise ChainError(f"logit_bias must be a list of [token, bias], got {logit_bias!r}")
        self.logit_bias: list[tuple[int, np.float32]] = []
        for pair in logit_bias:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise ChainError(f"logit_bias must hold pairs [token, bias], got {pair!r}")
            self.logit_bias.append((int32("token", pair[0]), bias("bias", pair[1])))

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        if not self.logit_bias:
            return
        kind = cand.logits.dtype.type
        elsewhere: dict[int, np.float32] = {}
        for token, value in self.logit_bias:
            if 0 <= token < len(cand) and cand.ids[token] == token:
                cand.logits[token] += kind(value)
            else:
                elsewhere.setdefault(token, value)
        if elsewhere:
            tokens = sorted(elsewhere)
            for token, i in zip(tokens, cand.positions(np.array(tokens)), strict=True):
                if i >= 0:
                    cand.logits[i] += kind(elsewhere[token])
