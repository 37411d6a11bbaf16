"""Compare logits with those of the first backend: figures that compare devices."""

import functools
import hashlib
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.checks.logits.decoded import Rows
from sampler_parity.harness.checks.logits.record import LogitsFigures
from sampler_parity.harness.files import sha256_of


@functools.cache
def model_digest(path: Path) -> str:
    return sha256_of(path)


def figures(first: Rows | None, rows: Rows) -> LogitsFigures:
    """Return the figures of rows, compared with the first backend's; without these only their
    digest."""
    digest = hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()
    if first is None:
        return LogitsFigures(sha256=digest)
    kl = divergence(first, rows)
    return LogitsFigures(
        sha256=digest,
        difference=largest_difference(first, rows),
        kl_max=float(kl.max()),
        kl_mean=float(kl.mean()),
        top1=int((first.argmax(axis=1) == rows.argmax(axis=1)).sum()),
    )


def largest_difference(a: Rows, b: Rows) -> float:
    """Return the largest absolute difference of two logits; 0 if both are the same infinity."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.where(a == b, 0.0, apart).max())


def divergence(a: Rows, b: Rows) -> NDArray[np.float64]:
    """Return the Kullback-Leibler divergence of softmax(b) from softmax(a) of each row: float64,
    nats."""
    log_p, log_q = (scipy.special.log_softmax(rows.astype(np.float64), axis=1) for rows in (a, b))
    p_a = np.exp(log_p)
    with np.errstate(invalid="ignore"):
        terms = np.where(p_a > 0, p_a * (log_p - log_q), 0.0)
    return np.asarray(terms.sum(axis=1).clip(min=0.0))
