"""top_k by a binary search on logit values, which Akunu's table names for its GPU path.

    low, high = the smallest and the largest logit
    a step:     middle = (low + high) / 2
                low = middle where at least k logits reach it, else high = middle
    kept:       the logits that reach low (cut "low"), or high (cut "high")

Parameters:
    k       0 or less: 256, as on the CPU (effective_k).
    steps   int, or None: until no float32 lies between low and high.
    start   "finite": low starts at the smallest logit that is not -inf; "smallest": at it, too.
Ties: all that equal the k-th largest stay; no number of steps separates them.
End: at least k logits reach low at every step, and fewer than k reach high. So cut "low" never
    loses one of the k largest and keeps what lies between low and the k-th; cut "high" never keeps
    one too many and loses what lies below high, the k-th always. With steps None cut "low" is the
    cut at the k-th largest value, as in akunu_gumbel. If k logits equal the largest, the cut is
    there.
Edges: one -inf and start "smallest": the middle is -inf at every step, and all stay. One token far
    below (a ban of -65504) costs steps: the interval is halved from there.
Readings of the text, which is one cell of a table ("Binary search on logit values"): each is a
    parameter here; akunu_gumbel takes the exact end.
Source: the Akunu book, chapter "The Sampling Pipeline", CPU vs GPU.
Suite: none: no engine is at hand. `python -m studies.akunu bisection` measures it.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model.pipeline import effective_k

Row = NDArray[np.float32]
HALF, ENDS = np.float32(0.5), 512  # steps: more than any two float32 need


def bisected(
    logits: Row, k: int, steps: int | None = None, start: Literal["finite", "smallest"] = "finite"
) -> tuple[np.float32, np.float32, int]:
    """Return the final low and high, and the steps taken until they stopped moving."""
    k = effective_k(k, len(logits))
    low = logits[logits > -np.inf].min() if start == "finite" else logits.min()
    high = logits.max()
    if np.count_nonzero(logits == high) >= k:
        return high, high, 0
    for step in range(ENDS if steps is None else steps):
        middle = np.float32(low * HALF + high * HALF)  # the sum of two large ones is infinite
        if middle in (low, high):
            return low, high, step
        if np.count_nonzero(logits >= middle) >= k:
            low = middle
        else:
            high = middle
    return low, high, ENDS if steps is None else steps


def kept(
    logits: Row,
    k: int,
    steps: int | None = None,
    start: Literal["finite", "smallest"] = "finite",
    cut: Literal["low", "high"] = "low",
) -> NDArray[np.bool_]:
    """Return which tokens stay."""
    low, high, _ = bisected(logits, k, steps, start)
    stay: NDArray[np.bool_] = (logits >= (low if cut == "low" else high)) & (logits > -np.inf)
    return stay
