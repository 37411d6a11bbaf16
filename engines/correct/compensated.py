"""correct/compensated: float32; each sum carries its rounding error along (Neumaier)."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.reference.compiled import jit


def _neumaier(x: Array, sums: Array) -> None:
    total = lost = np.float32(0)
    for i in range(len(x)):
        value = x[i]
        raised = total + value
        if abs(total) >= abs(value):
            lost += (total - raised) + value
        else:
            lost += (value - raised) + total
        total = raised
        sums[i] = total + lost


_compiled: Any = jit(_neumaier)


class Compensated(Ops):
    arithmetic = Arithmetic(summation="compensated", stable_sort=True)

    def running(self, x: Array) -> Array:
        sums = np.empty(len(x), np.float32)
        _compiled(np.ascontiguousarray(x), sums)
        return sums


class Worker(worker.Worker):
    name = "correct/compensated"

    def __init__(self) -> None:
        super().__init__(Compensated())
