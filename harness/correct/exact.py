"""Find exact decisions: the values and the threshold are not rounded, so one answer is right."""

from collections.abc import Iterable
from typing import Any

import numpy as np

Decision = tuple[str, str]  # sum, product, comparison or draw; below, at or above

_NEXT = 2.0**-21  # four floats differ by at most this share


def beside(
    operations: Iterable[str], values: Any, threshold: tuple[float, float]
) -> frozenset[Decision]:
    """Return on which sides of a threshold some of the values lie, at most four floats away.

    operations: those that lead to the decision. values: those that decide. threshold: its smallest
    and largest reading; `at` is a value that equals both.
    """
    low, high = threshold
    values = np.asarray(values, np.float64)
    sides = {
        "below": (values < low) & (values >= low - abs(low) * _NEXT),
        "at": (values == low) & (values == high),
        "above": (values > high) & (values <= high + abs(high) * _NEXT),
    }
    return frozenset((o, side) for o in operations for side, there in sides.items() if there.any())
