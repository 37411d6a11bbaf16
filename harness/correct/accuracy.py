"""Measure how far a backend is from the exact result of a stage. Nothing is judged.

Exact: the reference in float64, on the same float32 logits. Its sums of n numbers are off by at
most n 2^-53 of their value: 0.0003 ULP of a float32 at n = 128,256. An ULP is the distance from the
exact value, rounded to float32, to the next float32. So a backend that computes in float64 and
reports float32 is off by at most 0.5 ULP.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import Reals
from sampler_parity.harness.protocol.ask import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler

RENORMALIZED = ("mirostat", "mirostat_v2")  # their p are those of the survivors alone


@dataclass(frozen=True)
class Accuracy:
    """The errors of one row, with n survivors.

    p: |p - exact p| of each survivor: float64[n], ULPs.
    mass: the same of each running sum of the reported p, added in float64: float64[n], ULPs.
    mass_share: the largest error of a running sum, as a share of the whole mass.
    kept_tokens: how many more tokens survive than in the exact result.
    kept_share: the exact mass of the survivors, minus that of the exact ones. This is the error of
    the backend's own running sum where it decides: p alone does not show it.
    """

    p: Reals
    mass: Reals
    mass_share: float
    kept_tokens: int
    kept_share: float


def measure(sampler: Sampler, row: NDArray[np.float32], got: Got) -> Accuracy:
    """Compare the result of a sampler's first step on a row. sampler: the reference, which is
    applied. Raises ValueError if the result has no p of distinct tokens."""
    want = Candidates.from_logits(row, np.float64)
    sampler.apply(want)
    known = len(got.ids) > 0 and got.ids.min() >= 0 and got.ids.max() < len(row)
    if not known or np.bincount(got.ids).max() > 1:
        raise ValueError("its survivors are not distinct tokens of the row")
    if not np.isfinite(got.p).all() or not got.p.any():
        raise ValueError("it reports no p")
    logits = row.astype(np.float64)
    logits[want.ids] = want.logits
    weights = np.exp(logits - logits.max())
    whole = weights / weights.sum()
    exact = whole[got.ids]
    if sampler.name in RENORMALIZED:
        exact = exact / exact.sum()
    reported = got.p.astype(np.float64)
    mass, exact_mass = np.cumsum(reported), np.cumsum(exact)
    return Accuracy(
        _ulps(reported, exact),
        _ulps(mass, exact_mass),
        float(abs(mass - exact_mass).max()),
        len(got.ids) - len(want.ids),
        float(whole[got.ids].sum() - whole[want.ids].sum()),
    )


def _ulps(got: Reals, exact: Reals) -> Reals:
    return abs(got - exact) / np.spacing(exact.astype(np.float32)).astype(np.float64)
