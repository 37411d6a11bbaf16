"""The tail: many unlikely tokens, which frequencies of single tokens cannot show.

Two questions, both answered by counts that are Poisson in the limit:
    total    Is the tail drawn as often as its mass requires? (binomial, exact, both sides)
    repeats  Is it spread over all its tokens? A generator of few bits, or sums in too few, reach
             only some of them, and those come again and again.
Given the draws before it, a tail draw repeats an earlier token with probability at most
(earlier draws) * (largest share). Their sum is stochastically below a Poisson-binomial count, whose
upper tail beyond its mean + 1 lies below Poisson's (Hoeffding 1956; Anderson and Samuels 1967).
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.statistics.plan import Errors, smallest


def total_p_value(hits: Any, n: Any, mass: float) -> Any:
    """Return the two-sided p-value. hits: draws that fell into the tail, of n; mass: of the
    tail."""
    fewer = scipy.stats.binom.cdf(hits, n, mass)
    more = scipy.stats.binom.sf(np.asarray(hits) - 1, n, mass)
    return np.minimum(1.0, 2 * np.minimum(fewer, more))


def repeats(tokens: NDArray[np.int32]) -> int:
    """Return the number of tail draws that gave a token drawn before."""
    return len(tokens) - len(np.unique(tokens))


def repeats_p_value(repeated: Any, hits: Any, largest_share: float) -> Any:
    """Return the one-sided p-value. largest_share: of the likeliest tail token within the tail."""
    repeated, hits = np.asarray(repeated), np.asarray(hits)
    mean = hits * (hits - 1) / 2 * largest_share
    return np.where(repeated >= mean + 1, scipy.stats.poisson.sf(repeated - 1, mean), 1.0)


def draws_for(factor: float, mass: float, errors: Errors) -> int:
    """Return the draws that catch a tail drawn `factor` times too often or too seldom."""

    def enough(n: int) -> bool:
        low = scipy.stats.binom.ppf(errors.alpha / 4, n, mass) - 1
        high = scipy.stats.binom.isf(errors.alpha / 4, n, mass) + 1
        missed = max(
            scipy.stats.binom.sf(low, n, mass / factor),
            scipy.stats.binom.cdf(high - 1, n, min(1.0, mass * factor)),
        )
        return bool(missed <= errors.beta)

    return smallest(enough)
