"""The arithmetic of an engine: formats, functions, sums and order.

`Ops` computes in float32 with NumPy's functions and adds in sequence. An engine overrides the parts
in which it differs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError

Array = NDArray[Any]


class Ops:
    """float32, sums in sequence.

    kind: the format of logits and sums, and of every scalar. NumPy's float32 functions stay within
    4 ULP.
    """

    kind: type[np.floating[Any]] = np.float32
    arithmetic = Arithmetic(summation="sequential", stable_sort=True)

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def log(self, x: Any) -> Any:
        return np.log(x)

    def log2(self, x: Any) -> Any:
        return np.log2(x)

    def power(self, base: Any, exponent: Any) -> Any:
        return np.power(self.kind(base), self.kind(exponent))

    def running(self, x: Array) -> Array:
        """Return the n partial sums of x."""
        return np.add.accumulate(x)

    def total(self, x: Array) -> Any:
        """Return the sum of x; 0 for no values."""
        return self.running(x)[-1] if len(x) else self.kind(0)

    def narrowed(self, p: Array) -> Array:
        """Return probabilities rounded to the format in which the engine keeps them."""
        return p

    def weights(self, logits: Array) -> Array:
        """Return exp(logit - max)."""
        return self.narrowed(self.exp(logits - largest(logits)))

    def softmax(self, logits: Array) -> Array:
        weights = self.exp(logits - largest(logits))
        return self.narrowed(weights / self.total(weights))

    def log_p(self, logits: Array, p: Array) -> Any:
        """Return the logarithm of each probability. p: the softmax of the logits."""
        return self.log(p)

    def bits(self, logits: Array, p: Array) -> Any:
        """Return the surprise of each candidate, -log2 p."""
        return -self.log2(p)

    def log_ratios(self, logits: Array, p: Array) -> Any:
        """Return log(p_i / p_{i + 1}), one less than there are candidates."""
        return self.log(p[:-1] / p[1:])

    def crossing(self, p: Array, threshold: Any, least: int, strict: bool = False) -> int:
        """Return how many of p are needed to reach the threshold (strict: to exceed it), at least
        `least`; all if they do not reach it."""
        mass = self.running(p)
        enough = mass > threshold if strict else mass >= threshold
        enough[: max(0, least - 1)] = False
        return int(enough.argmax()) + 1 if enough.any() else len(p)

    def order(self, cand: Candidates) -> Array:
        """Return positions, the largest logit first, equal ones by id."""
        if len(cand) > 1 and np.isnan(cand.logits).any():
            raise UndefinedInputError("a NaN logit cannot be sorted")
        return np.lexsort((cand.ids, -cand.logits))

    def pick(self, weights: Array, u: float, lost: int) -> int:
        """Return the first position whose running sum reaches u of the total.

        A parallel sum may rise at a weight of 0, which only u = 0 can pick. lost: the position if
        the weights are NaN.
        """
        running = self.running(weights)
        if np.isnan(running[-1]):
            return lost
        possible = weights > 0 if u > 0 else np.ones(len(weights), np.bool_)
        reached = (running >= running[-1] * self.kind(u)) & possible
        return int((reached if reached.any() else possible).argmax())


def largest(x: Array) -> Any:
    """Return the maximum; a NaN is the largest only if it is the first."""
    return x[0] if np.isnan(x[0]) else np.fmax.reduce(x)


def first_largest(x: Array) -> int:
    """Return the first position of the maximum."""
    if len(x) == 0 or np.isnan(x[0]):
        return 0
    return int(np.where(np.isnan(x), -np.inf, x).argmax())
