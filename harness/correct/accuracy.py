"""Measure how far a backend is from the exact result of a stage. Nothing is judged.

Exact: the reference in float64, on the same float32 logits. Its sums of n numbers are off by at
most n 2^-53 of their value: 0.0003 ULP of a float32 at n = 128,256. An ULP is the distance from the
exact value, rounded to float32, to the next float32. So a backend that computes in float64 and
reports float32 is off by at most 0.5 ULP.

Errors of p are |p - exact p| of each survivor. Running sums add the reported p in float64. The sums
of the backend itself are not reported: their error shows in the cut. So kept_share compares the
exact mass of the tokens that it keeps with that of those that the exact result keeps.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import Reals
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler

RENORMALIZED = ("mirostat", "mirostat_v2")  # their p are those of the survivors alone
Step = tuple[Sampler, NDArray[np.float32], Got]


def accuracy_of(steps: Iterable[Step]) -> dict[str, float]:
    """Return the errors over all steps, by the fields of AccuracyOnBackend.

    A step: the reference's sampler in its state before, the logits, and the result of the backend.
    Raises BackendFailure for a result without p of tokens.
    """
    p, mass, shares, cuts = zip(*(_errors(*step) for step in steps), strict=True)
    kept_share, kept_tokens = max(cuts, key=lambda pair: abs(pair[0]))
    of_p, of_mass = np.concatenate(p), np.concatenate(mass)
    return {
        "p_median": np.median(of_p),
        "p_largest": of_p.max(),
        "mass_median": np.median(of_mass),
        "mass_largest": of_mass.max(),
        "mass_share": max(shares),
        "kept_tokens": kept_tokens,
        "kept_share": kept_share,
    }


def _errors(
    sampler: Sampler, row: NDArray[np.float32], got: Got
) -> tuple[Reals, Reals, float, tuple[float, int]]:
    in_row = len(got.ids) > 0 and got.ids.min() >= 0 and got.ids.max() < len(row)
    if not in_row or np.bincount(got.ids).max() > 1:
        raise BackendFailure("crashed", "the survivors are not distinct tokens of the row")
    if not np.isfinite(got.p).all() or not got.p.any():
        raise BackendFailure("unsupported", "reports no p")
    want = Candidates.from_logits(row, np.float64)
    sampler.apply(want)
    logits = row.astype(np.float64)
    logits[want.ids] = want.logits
    weights = np.exp(logits - logits.max())
    probabilities = weights / weights.sum()
    exact = probabilities[got.ids]
    if sampler.name in RENORMALIZED:
        exact = exact / exact.sum()
    reported = got.p.astype(np.float64)
    mass, exact_mass = np.cumsum(reported), np.cumsum(exact)
    cut = (
        float(probabilities[got.ids].sum() - probabilities[want.ids].sum()),
        len(got.ids) - len(want.ids),
    )
    share = float(abs(mass - exact_mass).max())
    return _ulps(reported, exact), _ulps(mass, exact_mass), share, cut


def _ulps(got: Reals, exact: Reals) -> Reals:
    return abs(got - exact) / np.spacing(exact.astype(np.float32)).astype(np.float64)
