"""The result of one look at the counts of a cell. Scalars for a run, arrays for many simulated
ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.statistics import coupled, fit, sequential, tv
from sampler_parity.harness.statistics.plan import LOOKS, Errors


@dataclass(frozen=True)
class Look:
    """tests: p-values, each valid for itself. low, high: of the bounded quantity, each wrong with
    probability at most alpha over all looks. null: its largest value for a right sampler."""

    tests: dict[str, Any]
    estimate: Any
    low: Any
    high: Any
    null: float = 0.0

    @property
    def p_value(self) -> Any:
        """Corrected for the number of tests."""
        return np.minimum(1.0, len(self.tests) * np.min(list(self.tests.values()), axis=0))

    def different(self, errors: Errors) -> Any:
        return (self.p_value <= errors.alpha) | (self.low > self.null)

    def equivalent(self, margin: float) -> Any:
        return self.high < margin


def frequencies(counts: NDArray[np.int64], p: tv.Probabilities, errors: Errors, last: bool) -> Look:
    """Look at counts, int64[..., K] after equally many draws. G and TV count at the last look
    alone: their p-values hold at a number of draws that was fixed beforehand."""
    share = errors.alpha / LOOKS
    tests = {"sequential": sequential.p_value(sequential.log_e_multinomial(counts, p))}
    never = np.ones(counts.shape[:-1])
    exact = fit.exact_p_value(counts, p) if last and counts.ndim == 1 else None
    tests["g"] = fit.g_p_value(counts, p) if last and exact is None else never
    tests["exact"] = never if exact is None else np.float64(exact)
    tests["tv"] = tv.p_value(counts, p) if last else never
    return Look(
        tests, tv.distance(counts, p), tv.lower(counts, p, share), tv.upper(counts, p, share)
    )


def disagreements(disagreed: Any, unexplained: Any, n: int, benign: float, errors: Errors) -> Look:
    """Look at n coupled draws. disagreed: int[...] of them; unexplained: those that rounding cannot
    have made; benign: the rate of those that it can."""
    share = errors.alpha / LOOKS
    d = np.asarray(disagreed)
    tests = {
        "sequential": coupled.p_value(d, n, benign),
        "unexplained": np.where(np.asarray(unexplained) > 0, 0.0, 1.0),
    }
    return Look(tests, d / n, coupled.lower(d, n, share), coupled.upper(d, n, share), benign)
