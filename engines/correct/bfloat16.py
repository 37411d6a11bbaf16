"""correct/bfloat16: logits and sums in float32, probabilities in bfloat16."""

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.halves import BFloat16


class Worker(worker.Worker):
    name = "correct/bfloat16"

    def __init__(self) -> None:
        super().__init__(BFloat16())
