"""Total variation distance between a backend's unknown distribution q and the exact p, from counts.

    TV(q, p) = 1/2 * sum |q_i - p_i|;   the estimate is TV(counts / n, p)

Bounds hold for every n, K and q:
    The estimate moves by at most 1/n when one draw changes. By McDiarmid's inequality it stays
    within radius(n, error) = sqrt(ln(1/error) / 2n) of its mean, on each side.
    Its mean is at least TV(q, p) (Jensen), hence `upper`.
    TV(q, p) >= TV(counts/n, p) - TV(counts/n, q) (triangle), hence `lower`.
They hold over bins of tokens, too; differences inside a bin are not visible.
Sources: McDiarmid 1989; Weissman et al. 2003 (HPL-2003-97); Clopper and Pearson 1934; De Moivre's
mean absolute deviation of a binomial (Diaconis and Zabell 1991).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Probabilities = NDArray[np.float64]


def distance(counts: Counts, p: Probabilities) -> Any:
    """Return TV(counts / n, p). counts: int[..., K] with n = sum > 0; p: float64[K] or [..., K]."""
    n = counts.sum(axis=-1, keepdims=True)
    return abs(counts / n - p).sum(axis=-1) / 2


def between(q: Probabilities, p: Probabilities) -> float:
    """Return the TV of two distributions over the same bins."""
    return float(abs(q - p).sum() / 2)


def expected(n: int, p: Probabilities) -> float:
    """Return the exact mean of the estimate of n draws from p itself: the effect of noise alone."""
    above = np.floor(n * p) + 1
    return float((above * (1 - p) * scipy.stats.binom.pmf(above, n, p)).sum() / n)


def radius(n: int, error: float) -> float:
    """Return by how much the estimate is above (or below) its mean with at most this
    probability."""
    return float(np.sqrt(-np.log(error) / (2 * n)))


def p_value(counts: Counts, p: Probabilities) -> Any:
    """Return the p-value of q = p: at most level with probability at most level. counts: int[...,
    K], one n."""
    n = int(counts.reshape(-1, counts.shape[-1])[0].sum())
    excess = np.maximum(distance(counts, p) - expected(n, p), 0)
    return np.exp(-2 * n * excess**2)


def upper(counts: Counts, p: Probabilities, error: float) -> Any:
    """Return a bound: TV(q, p) is above it with probability at most error."""
    n = int(counts.reshape(-1, counts.shape[-1])[0].sum())
    return np.minimum(1.0, distance(counts, p) + radius(n, error))


def lower(counts: Counts, p: Probabilities, error: float) -> Any:
    """Return a bound: TV(q, p) is below it with probability at most error. It is the better of two,
    with half the error each."""
    n, k = int(counts.reshape(-1, counts.shape[-1])[0].sum()), counts.shape[-1]
    of_all = distance(counts, p) - _noise(n, k, error / 2)
    return np.maximum(0.0, np.maximum(of_all, _one_bin(counts, n, p, error / 2)))


def _noise(n: int, k: int, error: float) -> float:
    """Return a bound: TV(counts / n, q) is above it with probability at most error, for any q over
    k bins.

    Two bounds depend on k, n and error alone, so the smaller one may be taken.
    """
    mean = np.sqrt((k - 1) / n) / 2
    subsets = max(0.0, k * np.log(2) - np.log(error))  # of a union over all sets of bins
    return float(min(mean + radius(n, error), np.sqrt(subsets / (2 * n))))


def _one_bin(counts: Counts, n: int, p: Probabilities, error: float) -> Any:
    """Return the distance of one p_i from its Clopper-Pearson interval; |q_i - p_i| <= TV(q, p).
    The intervals of all bins hold together, so the most promising one may be chosen."""
    tail_error = error / (2 * counts.shape[-1])
    share = counts / n
    # roughly the width of the interval: ranks the bins before the costly exact one
    promise = abs(share - p) - 6 * np.sqrt(share * (1 - share) / n)
    best = promise.argmax(axis=-1)[..., None]
    x = np.take_along_axis(counts, best, axis=-1)[..., 0]
    at = p[best[..., 0]]
    low = np.where(x > 0, scipy.stats.beta.ppf(tail_error, np.maximum(x, 1), n - x + 1), 0)
    high = np.where(x < n, scipy.stats.beta.isf(tail_error, x + 1, np.maximum(n - x, 1)), 1)
    return np.maximum(low - at, at - high)


@dataclass(frozen=True)
class Bins:
    """p: float64[K], each > 0, sum 1. of_token: int[n_vocab], -1 for a token that is impossible."""

    p: NDArray[np.float64]
    of_token: NDArray[np.int64]

    def counts(self, tokens: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return int64[K]; tokens that are impossible are not counted, see `impossible`."""
        bins = self.of_token[tokens]
        return np.bincount(bins[bins >= 0], minlength=len(self.p))

    def impossible(self, tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the drawn tokens that have probability 0."""
        return tokens[self.of_token[tokens] < 0]


def by_token(p: NDArray[np.float64]) -> Bins:
    """Return a bin for every possible token. p: float64[n_vocab], sum 1."""
    possible = p > 0
    of_token = np.where(possible, np.cumsum(possible) - 1, -1)
    return Bins(p[possible], of_token)


def by_rank(p: NDArray[np.float64], n: int) -> Bins:
    """Return at most about n bins: neighbours in probability together, about 1/n of the mass in
    each.

    A token with more mass than that is a bin of its own. A change of probabilities by rank (a
    temperature, a lost tail) shows almost undiminished over such bins.
    """
    order = np.argsort(-p, kind="stable")
    before = np.cumsum(p[order]) - p[order]
    at = np.unique((before * n * (1 + 1e-9)).astype(int), return_inverse=True)[1]
    of_token = np.empty(len(p), np.int64)
    of_token[order] = at
    mass = np.bincount(of_token, weights=p)
    positive = by_token(mass / mass.sum())
    return Bins(positive.p, np.where(p > 0, positive.of_token[of_token], -1))
