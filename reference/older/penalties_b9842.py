"""penalties of b4435 to b9842.

The counts of the window are kept next to it and changed at every accept.

Source: llama_sampler_penalties_accept, _apply and _clone, src/llama-sampling.cpp, later
src/llama-sampler.cpp.
"""

from collections import Counter, deque
from copy import copy
from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old
from sampler_parity.reference.samplers.penalties import Penalties


class PenaltiesB9842:
    name = "penalties"

    def __init__(
        self,
        old: Old,
        penalty_last_n: Any,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        self.old = old
        self.today = Penalties(penalty_last_n, penalty_repeat, penalty_freq, penalty_present)
        self.window: deque[int] = deque(maxlen=self.today.penalty_last_n)
        self.counts: Counter[int] = Counter()

    def accept(self, token: int) -> None:
        if self.window.maxlen == 0:
            return
        self.counts[token] += 1
        if len(self.window) == self.window.maxlen:
            oldest = self.window[0]
            self.counts[oldest] -= 1
            if self.counts[oldest] == 0:
                del self.counts[oldest]
        self.window.append(token)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        kind = cand.logits.dtype.type
        repeat = kind(self.today.penalty_repeat)
        freq, present = kind(self.today.penalty_freq), kind(self.today.penalty_present)
        if (repeat == 1 and freq == 0 and present == 0) or self.window.maxlen == 0:
            return
        tokens = np.array(sorted(self.counts), np.int64)
        counts = np.array([self.counts[token] for token in tokens.tolist()], kind)
        at = cand.positions(tokens)
        indices, count = at[at >= 0], counts[at >= 0]
        value = cand.logits[indices]
        value = np.where(value <= 0, value * repeat, value / repeat)
        cand.logits[indices] = value - floats.add_products(
            count, freq, (count > 0).astype(kind), present
        )
        cand.sorted = False

    def reset(self) -> None:
        self.window.clear()
        self.counts.clear()

    def clone(self) -> "PenaltiesB9842":
        twin = copy(self)
        twin.window, twin.counts = self.window.copy(), Counter()  # its counts are not copied
        return twin
