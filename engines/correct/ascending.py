"""correct/ascending: float32; tokens go from the small end while their sum is at most 1 - p."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops


class Ascending(Ops):
    """Small probabilities are added first, so that few of their bits are lost."""

    def total(self, x: Array) -> Any:
        return super().total(np.sort(x))

    def crossing(self, p: Array, threshold: Any, least: int, strict: bool = False) -> int:
        tails, rest = self.running(p[::-1])[::-1], self.kind(1) - threshold
        removable = tails < rest if strict else tails <= rest
        return max(1, least, int(removable.argmax()) if removable.any() else len(p))


class Worker(worker.Worker):
    name = "correct/ascending"

    def __init__(self) -> None:
        super().__init__(Ascending())
