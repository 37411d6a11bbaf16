"""penalties: make the tokens of the recent history less likely.

The sampler changes each candidate once that occurs count > 0 times among the last `penalty_last_n`
accepted tokens:

    logit = logit * penalty_repeat  if logit <= 0  else  logit / penalty_repeat
    logit -= count * penalty_freq + penalty_present

Parameters:
    `penalty_last_n`   int32, length of the window in tokens. 0 and below disable the sampler, -1
                       included (in earlier releases -1 was the context size; v0.5.0's command line
                       refuses it).
    `penalty_repeat`   float32 > 0, a factor. Default 1 (off).
    `penalty_freq`     float32, per occurrence. Default 0 (off).
    `penalty_present`  float32, once. Default 0 (off). All three off disables the sampler.
Ties: there are none to break. Candidates keep their order. The flag `sorted` is cleared even if no
    token was penalized.
Edges: -inf stays -inf. NaN takes the division. Any token id may be accepted; ids that are no
    candidate have no effect. No candidates: nothing happens.
Source: `llama_sampler_penalties_apply`, src/llama-sampler.cpp at v0.5.0; Keskar et al. 2019,
    arXiv:1909.05858 (there without the sign rule).
Suite: suites/parity/penalties.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32, int32
from sampler_parity.reference.sampler import History


class Penalties:
    name = "penalties"

    def __init__(
        self,
        penalty_last_n: Any,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        self.penalty_last_n = max(0, int32("penalty_last_n", penalty_last_n))
        self.penalty_repeat = float32("penalty_repeat", penalty_repeat)
        if self.penalty_repeat <= 0:
            raise ChainError(f"penalty_repeat must be greater than 0, got {penalty_repeat!r}")
        self.penalty_freq = float32("penalty_freq", penalty_freq)
        self.penalty_present = float32("penalty_present", penalty_present)
        self.history = History(self.penalty_last_n)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        off = self.penalty_repeat == 1 and self.penalty_freq == 0 and self.penalty_present == 0
        if off or self.penalty_last_n == 0:
            return
        kind = cand.logits.dtype.type
        tokens, counts = self.history.counts()
        at = cand.positions(tokens)
        is_candidate = at >= 0
        indices, count = at[is_candidate], counts[is_candidate].astype(kind)
        repeat, freq = kind(self.penalty_repeat), kind(self.penalty_freq)
        old = cand.logits[indices]
        repeated = np.where(old <= 0, old * repeat, old / repeat)
        cand.logits[indices] = repeated - floats.add_products(
            count, freq, kind(1), kind(self.penalty_present)
        )
        cand.sorted = False

    def accept(self, token: int) -> None:
        self.history.append(token)

    def reset(self) -> None:
        self.history.clear()

    def clone(self) -> "Penalties":
        twin = Penalties(
            self.penalty_last_n, self.penalty_repeat, self.penalty_freq, self.penalty_present
        )
        twin.history = self.history.copy()
        return twin
