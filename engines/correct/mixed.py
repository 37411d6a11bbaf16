"""correct/mixed: logits and probabilities in float32, sums in float64, as torch adds on a CPU."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic


class Mixed(Ops):
    arithmetic = Arithmetic(sums="float64", summation="sequential", stable_sort=True)

    def running(self, x: Array) -> Array:
        return np.add.accumulate(x, dtype=np.float64)

    def softmax(self, logits: Array) -> Any:
        return super().softmax(logits).astype(np.float32)


class Worker(worker.Worker):
    name = "correct/mixed"

    def __init__(self) -> None:
        super().__init__(Mixed())
