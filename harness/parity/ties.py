"""Is a difference but another choice among equal ones, where the sampler's sort has the choice?

llama.cpp keeps exactly k of equal logits, or as many as reach p; which of them is what its sort
happens to leave in front. Another sort keeps others, and is as right. It has no other freedom: as
many stay, in descending order, each with its own logit and p, and the same place is selected.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.ask import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import ROWS, Sampler
from sampler_parity.reference.samplers.typical_p import distances

Same = Callable[[NDArray[Any], NDArray[Any]], bool]

_SORTS = frozenset(name for name, row in ROWS.items() if row.sorts)


def tied(
    want: Candidates, got: Got, before: Candidates, sampler: Sampler, own: Same, same: Same
) -> bool:
    """Whether the backend left what the reference wants, but for a choice among equal ones.

    before, sampler: what the stage was given, and the sampler as it was then. own: when a token has
    the logit that it had; same: when values of different tokens are the same.
    """
    if (
        sampler.name not in _SORTS
        or len(want) != len(got.ids)
        or want.selected != got.selected
        or got.sorted not in (None, want.sorted)
    ):
        return False
    order = np.argsort(before.ids, kind="stable")
    known, ids = before.ids[order], np.sort(got.ids)
    if (ids[1:] == ids[:-1]).any() or not np.isin(ids, known).all():
        return False
    of_want, of_got = (order[np.searchsorted(known, ids)] for ids in (want.ids, got.ids))
    keys = _keys(before, sampler)
    return (
        np.array_equal(keys[of_want], keys[of_got], equal_nan=True)
        and own(before.logits[of_got], got.logits)
        and own(before.logits[of_want], want.logits)
        and _same_multiset(want, got, same)
        and _same_where_both_stay(want, got, same)
    )


def _keys(before: Candidates, sampler: Sampler) -> NDArray[Any]:
    """What the sampler sorts by. A NaN, which typical_p makes of -inf, equals every other: no sort
    can tell them apart."""
    if sampler.name != "typical_p":
        return before.logits
    sorted_ = before.copy()
    sorted_.softmax(sort=True)
    keys = np.empty_like(before.logits)
    keys[np.argsort(before.ids)] = distances(sorted_.p)[np.argsort(sorted_.ids)]
    return keys


def _same_multiset(want: Candidates, got: Got, same: Same) -> bool:
    a, b = np.lexsort((want.p, want.logits)), np.lexsort((got.p, got.logits))
    return same(want.logits[a], got.logits[b]) and same(want.p[a], got.p[b])


def _same_where_both_stay(want: Candidates, got: Got, same: Same) -> bool:
    _, a, b = np.intersect1d(want.ids, got.ids, assume_unique=True, return_indices=True)
    return same(want.p[a], got.p[b])
