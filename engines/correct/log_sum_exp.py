"""correct/log_sum_exp: float32; log p first, p = exp(log p) after it."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops, largest


class LogSumExp(Ops):
    """log p = logit - (max + log sum exp(logit - max)), which never underflows."""

    def softmax(self, logits: Array) -> Array:
        return self.narrowed(self.exp(self._log_softmax(logits)))

    def weights(self, logits: Array) -> Array:
        return self.softmax(logits)

    def log_p(self, logits: Array, p: Array) -> Any:
        return self._log_softmax(logits)

    def bits(self, logits: Array, p: Array) -> Any:
        return -self._log_softmax(logits) / self.kind(np.log(2))

    def log_ratios(self, logits: Array, p: Array) -> Any:
        return logits[:-1] - logits[1:]

    def _log_softmax(self, logits: Array) -> Any:
        shifted = logits - largest(logits)
        return shifted - self.log(self.total(self.exp(shifted)))


class Worker(worker.Worker):
    name = "correct/log_sum_exp"

    def __init__(self) -> None:
        super().__init__(LogSumExp())
