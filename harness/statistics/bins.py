"""Bins of tokens. A bound on a distance holds over bins; differences inside a bin are not
visible."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
