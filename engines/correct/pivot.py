"""correct/pivot: float32; top_k and top_p find the smallest value that stays, without a sort.

As FlashInfer, they search a pivot by halving the range of values. If not all tokens that equal it
are needed, the lowest ids stay. Only the survivors are sorted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.engines.correct import pairwise, samplers, worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.reference.candidates import Candidates


def search(values: Array, enough: Callable[[Array], Any]) -> Any:
    """Return the largest of the values for which those from it on are enough; the smallest one if
    all are too few. enough: gets which values are kept."""
    low, high = values.min(), None
    while True:
        inside = values[(values > low) & (True if high is None else values < high)]
        if len(inside) == 0:
            return low
        middle = np.clip(inside.min() / 2 + inside.max() / 2, inside.min(), inside.max())
        if enough(values >= middle):
            low = values[values >= middle].min()
        else:
            high = middle


def survivors(cand: Candidates, values: Array, enough: Callable[[Array], Any]) -> Any:
    """Return which candidates stay: all above the pivot, and of its equals the lowest ids."""
    pivot = search(values, enough)
    kept, equal = values > pivot, np.flatnonzero(values == pivot)
    equal = equal[np.argsort(cand.ids[equal])]
    n, most = 0, len(equal)
    while n < most:
        kept[equal] = np.arange(len(equal)) < (n + most) // 2
        n, most = (n, (n + most) // 2) if enough(kept) else ((n + most) // 2 + 1, most)
    kept[equal] = np.arange(len(equal)) < n
    return kept


def keep(ops: Ops, cand: Candidates, kept: Array) -> None:
    cand.keep(kept)
    cand.keep(ops.order(cand))
    cand.sorted = True


def top_k(ops: Ops, cand: Candidates, of: Any) -> None:
    if cand.sorted or not 0 < of.k < len(cand) or np.isnan(cand.logits).any():
        samplers.top_k(ops, cand, of)
        return
    keep(ops, cand, survivors(cand, cand.logits, lambda kept: kept.sum() >= of.k))


def top_p(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.p >= 1 or cand.sorted or len(cand) == 0:
        samplers.top_p(ops, cand, of)
        return
    samplers.normalize(ops, cand, sorted_first=False)
    if np.isnan(cand.p).any():
        keep(ops, cand, np.ones(len(cand), np.bool_))
        return
    least, target = max(1, of.min_keep), ops.kind(of.p)
    keep(
        ops,
        cand,
        survivors(
            cand,
            cand.p,
            lambda kept: kept.sum() >= least and ops.total(cand.p[kept]) >= target,
        ),
    )


class Worker(worker.Worker):
    name = "correct/pivot"
    samplers = samplers.SAMPLERS | {"top_k": top_k, "top_p": top_p}

    def __init__(self) -> None:
        super().__init__(pairwise.Pairwise())
