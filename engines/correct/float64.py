"""correct/float64: everything in float64, rounded to float32 only when it is reported."""

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic


class Float64(Ops):
    kind = np.float64
    arithmetic = Arithmetic(
        logits="float64", probabilities="float64", sums="float64", summation="sequential",
        stable_sort=True,
    )  # fmt: skip


class Worker(worker.Worker):
    name = "correct/float64"

    def __init__(self) -> None:
        super().__init__(Float64())
