"""A backend that is right and sorts otherwise: of equal logits the last one comes first."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.reference import ALL_SAMPLERS, Candidates


class LastFirst(Candidates):
    __slots__ = ()

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        self.refuse_nan()
        order = len(self) - 1 - np.argsort(-self.logits[::-1], kind="stable")
        return order[:n].astype(np.int32)

    def partial_sort(self, n: int) -> None:
        self.keep(self.order_of_largest(n))
        self.sorted = True


class OtherSort(reference.Worker):
    """wrong: samplers in the place of right ones."""

    def __init__(self, wrong: Mapping[str, Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self.samplers = {**ALL_SAMPLERS, **(wrong or {})}

    def candidates(self, logits: NDArray[np.float32]) -> LastFirst:
        return LastFirst.from_logits(logits)
