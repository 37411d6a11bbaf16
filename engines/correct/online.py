"""correct/online: float32; maximum and sum of a softmax in one pass over blocks, as FlashAttention.

When a block has a larger maximum the sum so far is multiplied by exp(old - new). The source is
Milakov and Gimelshein 2018, algorithm 3.
"""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops, largest

BLOCK = 64


class Online(Ops):
    def softmax(self, logits: Array) -> Any:
        return self.exp(logits - largest(logits)) / self._sum(logits)

    def _sum(self, logits: Array) -> Any:
        top, total = np.float32(-np.inf), np.float32(0)
        for at in range(0, len(logits), BLOCK):
            block = logits[at : at + BLOCK]
            raised = np.fmax(top, largest(block))
            if np.isneginf(raised):
                continue
            total = total * self.exp(top - raised) + self.total(self.exp(block - raised))
            top = raised
        return total


class Worker(worker.Worker):
    name = "correct/online"

    def __init__(self) -> None:
        super().__init__(Online())
