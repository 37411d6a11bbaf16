"""Goodness of fit: do counts come from p?

`g_p_value` decides: the G statistic with a bound that holds for every n. The relative
entropy of the counts, times n, has a moment generating function below that of a gamma distribution
of shape K - 1 (Agrawal 2020, "Finite-sample concentration of the multinomial in relative entropy"):

    P(G/2 >= x) <= exp(-x) * (e x / (K - 1))^(K - 1)   for x > K - 1

`scipy_p_values` are SciPy's G-test and chi-square with small bins pooled, as other tests print.
They rest on a limit distribution whose error at levels like 1e-8 is not bounded, so they decide
nothing.
"""

import itertools
import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics.tv import Counts, Probabilities

FEWEST_EXPECTED = 5.0  # in a bin, for the limit distribution (Cochran 1954); else it is pooled
MOST_OUTCOMES = 200_000  # all are enumerated: 180,000 took 1.8 s


def half_g(counts: Counts, p: Probabilities) -> Any:
    """Return sum counts * ln(counts / expected), half of the G statistic. counts: int[..., K]."""
    n = counts.sum(axis=-1, keepdims=True)
    return (scipy.special.xlogy(counts, counts) - scipy.special.xlogy(counts, n * p)).sum(axis=-1)


def g_p_value(counts: Counts, p: Probabilities) -> Any:
    """Return a p-value: at most level with probability at most level, whatever n. counts: int[...,
    K], K >= 1."""
    x, d = np.maximum(half_g(counts, p), 0), len(p) - 1
    if d == 0:
        return np.ones_like(x)
    with np.errstate(divide="ignore"):
        log_p = -x + d * (1 + np.log(x / d))
    return np.where(x > d, np.exp(np.minimum(log_p, 0)), 1.0)


def pooled(counts: Counts, p: Probabilities) -> tuple[Counts, NDArray[np.float64]]:
    """Return counts and expectations with every bin below FEWEST_EXPECTED put into one."""
    n = counts.sum()
    small = p * n < FEWEST_EXPECTED
    if not small.any():
        return counts, p * n
    joined = np.append(counts[~small], counts[small].sum())
    expected = np.append(p[~small], p[small].sum()) * n
    if expected[-1] < FEWEST_EXPECTED and len(expected) > 2:  # the pool itself is small
        last = int(expected[:-1].argmin())
        joined[last] += joined[-1]
        expected[last] += expected[-1]
        joined, expected = joined[:-1], expected[:-1]
    return joined, expected


def scipy_p_values(counts: Counts, p: Probabilities) -> dict[str, float]:
    """Return {"g": ..., "chi2": ...} by the limit distribution; 1 if pooling leaves one bin."""
    observed, expected = pooled(counts, p)
    if len(observed) < 2:
        return {"g": 1.0, "chi2": 1.0}
    expected = expected * (observed.sum() / expected.sum())
    return {
        name: float(scipy.stats.power_divergence(observed, expected, lambda_=kind).pvalue)
        for name, kind in (("g", "log-likelihood"), ("chi2", "pearson"))
    }


def exact_p_value(counts: Counts, p: Probabilities) -> float | None:
    """Return the exact multinomial p-value: the probability of all outcomes no likelier than this
    one.

    None if there are more than MOST_OUTCOMES outcomes: the test is for few draws.
    """
    n, k = int(counts.sum()), len(p)
    if math.comb(n + k - 1, k - 1) > MOST_OUTCOMES:
        return None
    bars = np.array(list(itertools.combinations(range(n + k - 1), k - 1)), int).reshape(-1, k - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)])
    log_pmf = scipy.stats.multinomial.logpmf(np.diff(edges, axis=1) - 1, n, p)
    observed = scipy.stats.multinomial.logpmf(counts, n, p)
    return float(min(1.0, np.exp(log_pmf[log_pmf <= observed + 1e-9]).sum()))
