"""Coupled draws: the reference and a backend turn the same uniform number into a token.

If they disagree, either rounding moved a boundary across the uniform, or the distributions (or the
order in which the candidates are walked) differ. If a backend's distribution is q, then P(disagree)
>= TV(q, p) for every coupling (Lindvall 1992). So an upper bound on the rate of disagreements is
one on the total variation, over all tokens and not over bins.

The null for rounding: every weight may be off by a few units in the last place, a factor between 1
- e and 1 + e with e = ulps * 2^-23. That moves the boundary at c of the unit interval by at most 2
e c (1 - c), up to terms in e^2. Rounding does not explain a disagreement at a uniform farther from
every boundary; the measure of the nearer uniforms bounds the rate of benign disagreements.
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics import sequential

ULP = 2.0**-23  # of float32: its 23 bits of fraction


def edges(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boundaries between neighbours in the order of the draw, ascending. p: in that
    order."""
    running = np.cumsum(p)
    return running[:-1] / running[-1] if len(p) else running


def reach(at: NDArray[np.float64], ulps: float) -> Any:
    """Return how far rounding may move a boundary that lies at `at`."""
    return 2 * ulps * ULP * at * (1 - at)


def benign_rate(at: NDArray[np.float64], ulps: float) -> float:
    """Return the measure of the uniforms that lie within reach of a boundary, at most 1."""
    if len(at) == 0:
        return 0.0
    width = reach(at, ulps)
    end = np.maximum.accumulate(at + width)
    start = np.maximum(at - width, np.concatenate([[0.0], end[:-1]]))
    return float(min(1.0, np.maximum(end - start, 0).sum()))


def explained(u: NDArray[np.float64], at: NDArray[np.float64], ulps: float) -> Any:
    """Return bool[len(u)]: whether a boundary lies so close to u that rounding may move it
    across."""
    if len(at) == 0:
        return np.zeros(len(u), bool)
    right = np.searchsorted(at, u)
    below = at[np.maximum(right - 1, 0)]
    above = at[np.minimum(right, len(at) - 1)]
    return (abs(u - below) <= reach(below, ulps)) | (abs(above - u) <= reach(above, ulps))


def p_value(disagreements: Any, n: Any, benign: float) -> Any:
    """Return the p-value of a rate of at most `benign`, valid however often one looks."""
    return sequential.p_value(sequential.log_e_bernoulli(disagreements, n, benign))


def upper(disagreements: Any, n: int, error: float) -> Any:
    """Return Clopper-Pearson's bound: the rate is above it with probability at most error."""
    d = np.asarray(disagreements)
    return np.where(d < n, scipy.stats.beta.isf(error, d + 1, np.maximum(n - d, 1)), 1.0)


def lower(disagreements: Any, n: int, error: float) -> Any:
    """Return Clopper-Pearson's bound: the rate is below it with probability at most error."""
    d = np.asarray(disagreements)
    return np.where(d > 0, scipy.stats.beta.ppf(error, np.maximum(d, 1), n - d + 1), 0.0)
