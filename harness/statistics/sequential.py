"""Tests that may be looked at after every draw: e-values that bet against the exact distribution.

Under the null an e-value's mean is at most 1 at all times (it is a mixture of likelihood ratios).
By Ville's inequality (1939), it ever reaches 1/level with probability at most level. So `1 / e` is
a p-value whenever one looks.

    multinomial: against Dirichlet(concentration * p), over a grid of concentrations
    bernoulli:   against rates above q0, over a grid; valid for every true rate <= q0
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics.tv import Counts, Probabilities

# Mixtures: every member costs the logarithm of their number once, and one is near any alternative.
CONCENTRATIONS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)


def log_e_multinomial(counts: Counts, p: Probabilities) -> NDArray[np.float64]:
    """Return the log e-values. counts: int[..., K] so far; p: float64[K], each > 0."""
    n = counts.sum(axis=-1)
    null = scipy.special.xlogy(counts, p).sum(axis=-1)
    bets = []
    for concentration in CONCENTRATIONS:
        prior = concentration * p
        gained = (scipy.special.gammaln(prior + counts) - scipy.special.gammaln(prior)).sum(axis=-1)
        bets.append(
            gained
            + scipy.special.gammaln(concentration)
            - scipy.special.gammaln(concentration + n)
            - null
        )
    return _mean(bets)


def log_e_bernoulli(successes: Any, n: Any, q0: float) -> NDArray[np.float64]:
    """Return the log e-value of successes in n trials, for the null that their rate is at most q0 <
    1.

    If q0 = 0, a single success is proof: inf.
    """
    bets = []
    for share in RATES:
        q = q0 + (1 - q0) * share
        against = scipy.special.xlogy(successes, q) + scipy.special.xlog1py(n - successes, -q)
        null = scipy.special.xlogy(successes, q0) + scipy.special.xlog1py(n - successes, -q0)
        bets.append(against - null)
    return _mean(bets)


def _mean(logs: list[Any]) -> NDArray[np.float64]:
    return np.asarray(scipy.special.logsumexp(np.array(logs), axis=0) - np.log(len(logs)))


def p_value(log_e: Any) -> Any:
    """Return min(1, 1/e)."""
    return np.exp(-np.maximum(log_e, 0))
