"""Decide whether a difference is near a cut-off or a draw.

The stage runs again in float64, on its candidates, with its threshold moved a little down and a
little up. The difference is near the cut if the backend's survivors lie between the two results, in
their order and with their logits and p. A draw is near if the token's piece of the unit interval is
as close to the uniform number.

This is the place of a difference, no verdict on it: with many candidates rounding reaches farther,
and with exact sums it reaches nothing. `--accept correct` decides that.
"""

from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.dist import Dist

# Relative width of the zone. It is no bound: a sequential float32 sum of 262,144 terms was off by
# 1.3e-3, and harness/correct/bounds.py allows n * 2**-24.
WIDTH = 1e-5
_ABSOLUTE = 1e-6  # as `close` allows it
_ULPS = 4 * 2.0**-23  # as `close` allows it

_THRESHOLD = {name: row.threshold for name, row in ROWS.items() if row.boundary}


# Below, float32 cannot distinguish two masses: its unit of 1 is 6e-8.
_LEAST = 1e-9
_HALVINGS = 8  # of four decades: the margin to 4%


def margin_near_cut(
    want: Candidates, got: Candidates, before: Candidates, sampler: Sampler
) -> float | None:
    """Return how far the decisive number is from the cut, if the backend's candidates (got) differ
    from want near it alone; else None.

    It is the smallest share by which the threshold must move, in float64, for both results to be
    correct; for a draw, how far the uniform number is outside the piece of either token. before and
    sampler are the input of the stage: the candidates, and the sampler in its state then (a copy;
    it is applied here).
    """
    if not _near_cut(want, got, before, sampler):
        return None
    if sampler.name not in _THRESHOLD:
        u, edges = _drawn_with(want, sampler)
        return max(_outside(u, edges, result.selected) for result in (want, got))
    low, high = _LEAST, WIDTH
    if _both_right(want, got, before, sampler, low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        right = _both_right(want, got, before, sampler, middle)
        low, high = (low, middle) if right else (middle, high)
    return high


def _both_right(
    want: Candidates, got: Candidates, before: Candidates, sampler: Sampler, width: float
) -> bool:
    around = apply_around(before, sampler, _THRESHOLD[sampler.name], width)
    fewest, most = sorted(around, key=len)
    return all(
        _between(_as_chosen(result, before, fewest, most), fewest, most) for result in (want, got)
    )


def _near_cut(want: Candidates, got: Candidates, before: Candidates, sampler: Sampler) -> bool:
    if sampler.name in _THRESHOLD:
        around = apply_around(before, sampler, _THRESHOLD[sampler.name], WIDTH)
        fewest, most = sorted(around, key=len)
        got = _as_chosen(got, before, fewest, most)
        return (
            want.selected == got.selected
            and got.sorted in (fewest.sorted, most.sorted)
            and _between(got, fewest, most)
            and _in_order(got, before, most, sampler)
            and _near(got, want, most)
        )
    if isinstance(sampler, Dist) and np.array_equal(want.ids, got.ids) and got.token is not None:
        exact = in_float64(before)
        sampler.clone().apply(exact)
        return _near(got, want, exact) and _drawn(got, want, sampler)
    return False


def in_float64(cand: Candidates) -> Candidates:
    return Candidates(
        cand.ids, cand.logits.astype(np.float64), cand.p.astype(np.float64), cand.sorted
    )


def apply_around(
    before: Candidates, sampler: Sampler, parameter: str, width: float
) -> tuple[Candidates, Candidates]:
    """Return the sampler's results in float64 with its threshold lowered, and raised, by this
    share."""
    threshold = float(getattr(sampler, parameter))
    results: list[Candidates] = []
    for factor in (1 - width, 1 + width):
        moved = sampler.clone()
        setattr(moved, parameter, np.float64(threshold * factor))
        exact = in_float64(before)
        moved.apply(exact)
        results.append(exact)
    return results[0], results[1]


def _between(got: Candidates, fewest: Candidates, most: Candidates) -> bool:
    """Return whether the same tokens stay, each once, except those within rounding of the cut."""
    ids = set(got.ids.tolist())
    return len(ids) == len(got) and set(fewest.ids.tolist()) <= ids <= set(most.ids.tolist())


def _as_chosen(
    got: Candidates, before: Candidates, fewest: Candidates, most: Candidates
) -> Candidates:
    """Return the backend's candidates with equal ones renamed as the reference chooses among them,
    because a sort may choose any of them. Returns them unchanged if this is not needed or not
    possible.
    """
    ids = set(got.ids.tolist())
    if _between(got, fewest, most) or len(ids) < len(got) or not ids <= set(before.ids.tolist()):
        return got
    keys = np.unique(before.logits, return_inverse=True)[1]
    names: defaultdict[int, deque[int]] = defaultdict(deque)
    for id, key in zip(most.ids.tolist(), keys[_places(most.ids, before)].tolist(), strict=True):
        names[key].append(id)
    of_got = keys[_places(got.ids, before)].tolist()
    if any(n > len(names[key]) for key, n in Counter(of_got).items()):
        return got
    renamed = got.copy()
    renamed.ids = np.array([names[key].popleft() for key in of_got], np.int32)
    return renamed


def _in_order(got: Candidates, before: Candidates, most: Candidates, sampler: Sampler) -> bool:
    """Return whether the survivors have the order of the float64 result; equal keys in any order.

    The key is the logit, which no stage here rounds; for typical_p the distance from the entropy.
    """
    survivors = most.ids[np.isin(most.ids, got.ids)]
    key, allowed = before.logits.astype(np.float64), 0.0
    if sampler.name == "typical_p":
        key, allowed = _distance(before), WIDTH
    a, b = (key[_places(ids, before)] for ids in (survivors, got.ids))
    return np.allclose(a, b, rtol=allowed, atol=allowed, equal_nan=True)


@np.errstate(all="ignore")
def _distance(before: Candidates) -> NDArray[np.float64]:
    """Return the distance of each token's surprise from the entropy."""
    exact = in_float64(before)
    exact.softmax(sort=False)
    surprise = -np.log(exact.p)
    return np.asarray(abs(surprise - (exact.p * surprise).sum()))


def _near(got: Candidates, want: Candidates, exact: Candidates) -> bool:
    """Return whether got's logits are the exact ones, and its p as near to them as float32 sums
    are.

    The error of one sum is the same in all p: want's own is that of its likeliest token, got's may
    be twice that.
    """
    at = _places(got.ids, exact)
    of_want = np.isin(want.ids, exact.ids)
    p, exact_p = want.p[of_want], exact.p[_places(want.ids[of_want], exact)]
    error = float(abs(p.max() / exact_p.max() - 1)) if exact_p.max(initial=0) > 0 else 0.0
    pairs: tuple[tuple[NDArray[Any], NDArray[Any], float], ...] = (
        (got.logits, exact.logits[at], _ULPS),
        (got.p, exact.p[at], 2 * error + WIDTH),
    )
    return all(
        np.allclose(a, b, rtol=allowed, atol=_ABSOLUTE, equal_nan=True) for a, b, allowed in pairs
    )


def _places(ids: NDArray[np.int32], cand: Candidates) -> NDArray[np.int64]:
    """Return the places of these ids among the candidates, which contain all of them."""
    order = np.argsort(cand.ids)
    return np.asarray(order[np.searchsorted(cand.ids, ids, sorter=order)])


def _drawn(got: Candidates, want: Candidates, sampler: Sampler) -> bool:
    """Return whether the uniform number is within WIDTH of the token's piece."""
    u, edges = _drawn_with(want, sampler)
    return _outside(u, edges, got.selected) <= WIDTH and bool(want.p[got.selected] > 0)


def _drawn_with(want: Candidates, sampler: Sampler) -> tuple[float, NDArray[np.float64]]:
    """Return the uniform number, and the end of each token's piece."""
    assert isinstance(sampler, Dist)
    return sampler.clone().rng.uniform_double(), np.cumsum(want.p.astype(np.float64))


def _outside(u: float, edges: NDArray[np.float64], at: int) -> float:
    """Return how far the number is outside the piece of the token at this place; 0 within it."""
    low = edges[at - 1] if at > 0 else 0.0
    return float(max(0.0, low - u, u - edges[at]))
