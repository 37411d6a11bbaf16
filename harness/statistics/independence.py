"""Independence: is each draw taken anew?

Two independent draws from p are the same token with probability r = sum p_i^2. Over disjoint pairs
the matches are binomial, exactly. A frozen generator, one that is seeded again every k draws, and a
repeated uniform all make too many, at lag 1 or at lag k; a stratified one too few.
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics.tv import radius

# Each small lag, then powers of two and of ten: lengths of buffers after which one is seeded again.
LAGS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 100, 128, 256, 512, 1000, 1024)


def repeat_rate(p: NDArray[np.float64]) -> float:
    """Return the probability that two independent draws are the same token."""
    return float((p * p).sum())


def pairs(tokens: NDArray[Any], lag: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return disjoint pairs (x[t], x[t + lag]): every token is in one pair at most. tokens: [...,
    n]."""
    blocks = tokens.shape[-1] // (2 * lag)
    cut = tokens[..., : blocks * 2 * lag].reshape(*tokens.shape[:-1], blocks, 2, lag)
    shape = (*tokens.shape[:-1], blocks * lag)
    return cut[..., 0, :].reshape(shape), cut[..., 1, :].reshape(shape)


def matches(first: NDArray[Any], second: NDArray[Any]) -> tuple[Any, int]:
    """Return how many pairs are the same token, and how many pairs there are."""
    return (first == second).sum(axis=-1), first.shape[-1]


def p_value(matched: Any, n: int, rate: float) -> Any:
    """Return the exact two-sided p-value. rate: repeat_rate of the distribution."""
    fewer = scipy.stats.binom.cdf(matched, n, rate)
    more = scipy.stats.binom.sf(np.asarray(matched) - 1, n, rate)
    return np.minimum(1.0, 2 * np.minimum(fewer, more))


def upper(matched: Any, n: int, rate: float, error: float) -> Any:
    """Return a bound: |true rate of matches - rate| is above it with probability at most error
    (Hoeffding)."""
    return abs(np.asarray(matched) / n - rate) + radius(n, error / 2)
