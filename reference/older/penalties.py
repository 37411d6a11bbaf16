"""penalties of b4435 to b9842.

The counts of the window are kept beside it and changed at every accept.

Source: llama_sampler_penalties_accept, _apply and _clone, src/llama-sampling.cpp, later
src/llama-sampler.cpp.
"""

from collections import Counter
from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state
from sampler_parity.reference.samplers.penalties import Penalties


class OldPenalties(Penalties):
    old: Old = NONE

    def __init__(
        self,
        penalty_last_n: Any,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        super().__init__(penalty_last_n, penalty_repeat, penalty_freq, penalty_present)
        self.counts: Counter[int] = Counter()

    def accept(self, token: int) -> None:
        if self.penalty_last_n == 0:
            return
        self.counts[token] += 1
        if len(self.history) == self.penalty_last_n:
            oldest = next(iter(self.history))
            self.counts[oldest] -= 1
            if self.counts[oldest] == 0:
                del self.counts[oldest]
        super().accept(token)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        off = self.penalty_repeat == 1 and self.penalty_freq == 0 and self.penalty_present == 0
        if off or self.penalty_last_n == 0:
            return
        kind = cand.logits.dtype.type
        seen = np.flatnonzero(np.isin(cand.ids, list(self.counts)))
        count = np.array([self.counts[token] for token in cand.ids[seen].tolist()], dtype=kind)
        repeat, freq, present = map(
            kind, (self.penalty_repeat, self.penalty_freq, self.penalty_present)
        )
        logits = cand.logits.copy()
        value = logits[seen]
        value = np.where(value <= 0, value * repeat, value / repeat)
        logits[seen] = value - (count * freq + (count > 0).astype(kind) * present)
        cand.logits = logits
        cand.sorted = False

    def reset(self) -> None:
        super().reset()
        self.counts.clear()

    def clone(self) -> "OldPenalties":
        twin = in_state(self, super().clone())
        twin.counts = Counter()  # the window is copied, its counts are not
        return twin
