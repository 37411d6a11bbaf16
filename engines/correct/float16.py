"""correct/float16: logits and sums in float32, probabilities in float16."""

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.halves import Float16


class Worker(worker.Worker):
    name = "correct/float16"

    def __init__(self) -> None:
        super().__init__(Float16())
