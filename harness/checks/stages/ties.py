"""Decide whether a difference is only another choice among equal ones, made by the sampler's sort.

llama.cpp keeps exactly k of equal logits, or as many as reach p; its sort decides which of them.
Another sort keeps others, which is also correct. It has no other freedom: the same number stays, in
descending order, each with its own logit and p, and the same place is selected.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.typical_p import distances

Same = Callable[[NDArray[Any], NDArray[Any]], bool]

SORTS = frozenset(name for name, row in ROWS.items() if row.sorts)


def chosen(want: Candidates, got: Got, before: Candidates, sampler: Sampler) -> bool:
    """Return whether the tokens that stay are those of the reference, each in its place, except for
    a choice among equal ones. before, sampler: the input of the stage, and the sampler in its state
    then.
    """
    if sampler.name not in SORTS or len(want) != len(got.ids):
        return False
    before_ids, ids = np.sort(before.ids), np.sort(got.ids)
    # a token that is there twice, or that was not there before
    if (ids[1:] == ids[:-1]).any() or not np.isin(ids, before_ids).all():
        return False
    keys, at_want, at_got = _keys(before, sampler), _at(before, want.ids), _at(before, got.ids)
    return np.array_equal(keys[at_want], keys[at_got], equal_nan=True)


def tied(
    want: Candidates, got: Got, before: Candidates, sampler: Sampler, same_token: Same, same: Same
) -> bool:
    """Return whether a backend with such a choice left everything else as in the reference.

    same_token: when a token has its earlier logit; same: when values of two tokens are equal.
    """
    return (
        want.selected == got.selected
        and got.sorted in (None, want.sorted)
        and same_token(before.logits[_at(before, got.ids)], got.logits)
        and same_token(before.logits[_at(before, want.ids)], want.logits)
        and _same_multiset(want, got, same)
        and _same_where_both_stay(want, got, same)
    )


def chosen_otherwise(want: Candidates, got: Got, before: Candidates) -> bool:
    """Return whether a token stays in the place of its equal, whatever else stays."""
    missing = np.setdiff1d(want.ids, got.ids, assume_unique=True)
    unexpected = np.setdiff1d(got.ids, want.ids, assume_unique=True)
    return bool(
        np.isin(before.logits[_at(before, unexpected)], before.logits[_at(before, missing)]).any()
    )


def _at(before: Candidates, ids: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the places of these ids, which are all among the candidates."""
    order = np.argsort(before.ids, kind="stable")
    return np.asarray(order[np.searchsorted(before.ids, ids, sorter=order)])


def _keys(before: Candidates, sampler: Sampler) -> NDArray[Any]:
    """Return the keys that the sampler sorts by. A NaN, which typical_p makes of -inf, equals every
    other: no sort can distinguish them."""
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
