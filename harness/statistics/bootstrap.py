"""The bootstrap interval of every measured figure: percentile, with the same seed each time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

CONFIDENCE = 0.95  # by convention, of every figure that is shown; the gate has its own


def bootstrap_interval(
    samples: tuple[NDArray[Any], ...],
    statistic: Callable[..., Any],
    resamples: int,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the low and high end. statistic: of arrays along `axis`, one per sample of at least
    two.

    Source: scipy.stats.bootstrap, method "percentile", unpaired samples.
    """
    interval = scipy.stats.bootstrap(
        samples,
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def ratio_of_medians(ours: NDArray[Any], theirs: NDArray[Any], axis: int = -1) -> Any:
    """Return the ratio of the medians of two samples: a statistic."""
    return np.median(ours, axis=axis) / np.median(theirs, axis=axis)
