"""The walk of the sampler dist to its token, and its random numbers, many at once."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.random import Mt19937

_BELOW_ONE = np.nextafter(1.0, 0.0)


class Walk(NamedTuple):
    """The data of dist: ids int32[n] as they stand, running float64[n] sums of weights."""

    ids: NDArray[np.int32]
    running: NDArray[np.float64]

    @property
    def p(self) -> NDArray[np.float64]:
        return np.asarray(np.diff(self.running, prepend=0.0) / self.running[-1])

    def tokens(self, u: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the token of each u: the first whose running sum reaches u * total."""
        return np.asarray(self.ids[np.searchsorted(self.running, self.running[-1] * u)])


def walk_of(cand: Candidates) -> Walk:
    """Return dist's own sums, in its arithmetic, over given candidates."""
    running: Any = floats.running_sum(cand.weights(), np.float64)
    return Walk(cand.ids.copy(), running)


def uniforms(rng: Mt19937, n: int) -> NDArray[np.float64]:
    """Return the next n numbers of `rng.uniform_double()`."""
    words = rng.words(2 * n).astype(np.float64)
    return np.minimum((words[0::2] + words[1::2] * 2.0**32) / 2.0**64, _BELOW_ONE)
