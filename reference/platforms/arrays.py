"""The arrays that sorts work on: keys, and the position that each key had before."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.compiled import jit

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Order: TypeAlias = NDArray[np.int32]
Edges: TypeAlias = NDArray[np.int64]  # of parts that lie side by side


@jit
def parts_of(edges: Edges) -> list[tuple[int, int]]:
    """Begin and end of each part in which there is something to sort."""
    n = len(edges) - 1
    return [(edges[i], edges[i + 1]) for i in range(n) if edges[i + 1] - edges[i] > 1]
