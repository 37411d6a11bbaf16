"""correct/tf32: logits and sums in float32, probabilities with the 11 bits of tf32."""

from typing import Any

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.halves import Halves
from sampler_parity.engines.correct.ops import Array
from sampler_parity.harness.protocol.arithmetic import Arithmetic


class Tf32(Halves):
    arithmetic = Arithmetic(probabilities="tf32", summation="sequential", stable_sort=True)

    def narrowed(self, p: Array) -> Any:
        """Round to even by adding half of the last bit that stays, less one if that bit is 0."""
        bits = p.view("uint32")
        even = (bits >> 13) & 1
        return ((bits + 0xFFF + even) & 0xFFFFE000).view("float32")


class Worker(worker.Worker):
    name = "correct/tf32"

    def __init__(self) -> None:
        super().__init__(Tf32())
