"""correct/pairwise: float32; each sum is a tree of depth log2(n)."""

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic


class Pairwise(Ops):
    """Hillis and Steele's scan: ceil(log2(n)) additions lead to each partial sum."""

    arithmetic = Arithmetic(summation="pairwise", stable_sort=True)

    def running(self, x: Array) -> Array:
        sums, step = x.copy(), 1
        while step < len(sums):
            sums[step:] = sums[step:] + sums[:-step]
            step *= 2
        return sums


class Worker(worker.Worker):
    name = "correct/pairwise"

    def __init__(self) -> None:
        super().__init__(Pairwise())
