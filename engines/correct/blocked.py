"""correct/blocked: float32 as on a GPU: 32 lanes, exp2 and log2, powers by both."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic

LANES = 32
LOG2_E = np.float32(1.4426950408889634)
LN_2 = np.float32(0.6931471805599453)


class Blocked(Ops):
    """exp(x) = exp2(x * log2(e)) rounds the exponent, as CUDA's __expf: its error grows to 2 + 1.17
    |x| ULP, and float32 underflows at x = -104."""

    arithmetic = Arithmetic(summation="blocked", exp_ulps=128, stable_sort=True)

    def exp(self, x: Array) -> Array:
        return np.exp2(x * LOG2_E)

    def log(self, x: Any) -> Any:
        return np.log2(x) * LN_2

    def power(self, base: Any, exponent: Any) -> Any:
        """Return 1 for 0^0, as pow does: 0 times log2(0) is NaN."""
        if exponent == 0:
            return np.float32(1)
        return np.exp2(np.float32(exponent) * np.log2(np.float32(base)))

    def total(self, x: Array) -> Any:
        """Add every 32nd value in its lane, then the lanes as a tree."""
        padded = np.zeros(-(-max(1, len(x)) // LANES) * LANES, np.float32)
        padded[: len(x)] = x
        lanes = np.add.accumulate(padded.reshape(-1, LANES), axis=0)[-1]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
        return lanes[0]

    def running(self, x: Array) -> Array:
        """Scan blocks of 32 as a warp does, then add the sum of the blocks before."""
        blocks = np.zeros((-(-max(1, len(x)) // LANES), LANES), np.float32)
        blocks.reshape(-1)[: len(x)] = x
        step = 1
        while step < LANES:
            blocks[:, step:] = blocks[:, step:] + blocks[:, :-step]
            step *= 2
        before = np.add.accumulate(blocks[:, -1])[:-1]
        blocks[1:] += before[:, None]
        return blocks.reshape(-1)[: len(x)]


class Worker(worker.Worker):
    name = "correct/blocked"

    def __init__(self) -> None:
        super().__init__(Blocked())
