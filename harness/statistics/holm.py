"""Holm's step-down correction for all tests of a run (Holm 1979); valid under any dependence."""

import numpy as np
from numpy.typing import NDArray


def holm(p_values: NDArray[np.float64], tests: int = 0) -> NDArray[np.float64]:
    """Return adjusted p-values: those at most alpha may be rejected, with family-wise error alpha.

    tests: how many the run has, if more than are given (the others count as not rejected).
    """
    m = max(tests, len(p_values))
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * (m - np.arange(len(p_values)))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(stepped)) if len(order) else []
    return adjusted
