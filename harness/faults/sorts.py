"""Candidates as other sorts order them: right, but for which of equal logits comes first."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import Candidates


class FirstOfEquals(Candidates):
    """A stable sort: JavaScript's, Python's, std::stable_sort."""

    __slots__ = ()

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        self.refuse_nan()
        return np.argsort(-self.logits, kind="stable")[:n].astype(np.int32)

    def partial_sort(self, n: int) -> None:
        self.keep(self.order_of_largest(n))
        self.sorted = True


class LastOfEquals(FirstOfEquals):
    """A stable sort that ascends, read from its end: numpy.argsort and `[::-1]`."""

    __slots__ = ()

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        self.refuse_nan()
        return np.argsort(self.logits, kind="stable")[::-1][:n].astype(np.int32)
