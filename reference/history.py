"""The tokens accepted last."""

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.compiled import jit


class History:
    """At most `size` tokens: each token accepted pushes out the oldest."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tokens = array("q")  # the newest stand last; what lies before them is out of date

    def __len__(self) -> int:
        return min(self.size, len(self._tokens))

    def __iter__(self) -> Iterator[int]:
        """Yield the tokens, oldest first."""
        return iter(self._tokens[len(self._tokens) - len(self) :])

    def append(self, token: int) -> None:
        self._tokens.append(token)
        if len(self._tokens) > 2 * self.size + 64:
            del self._tokens[: len(self._tokens) - self.size]

    def clear(self) -> None:
        del self._tokens[:]

    def copy(self) -> "History":
        twin = History(self.size)
        twin._tokens.extend(self)
        return twin

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct tokens, ascending, and how often each occurs."""
        tokens = np.array(self._tokens[len(self._tokens) - len(self) :], np.int64)
        tokens.sort()
        return _count(tokens)  # type: ignore[no-any-return]


@jit
def _count(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    distinct, counts = np.empty_like(ascending), np.zeros_like(ascending)
    n = 0
    for i in range(len(ascending)):
        if i == 0 or ascending[i] != ascending[i - 1]:
            distinct[n] = ascending[i]
            n += 1
        counts[n - 1] += 1
    return distinct[:n], counts[:n]
