"""Look up tokens among candidates, and keep some."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.compiled import Order


def candidates(ids: list[int]) -> Candidates:
    cand = Candidates.from_logits(np.arange(len(ids), dtype=np.float32))
    cand.ids = np.array(ids, np.int32)
    return cand


@pytest.mark.parametrize(
    ("ids", "tokens", "positions"),
    [
        pytest.param([0, 1, 2, 3], [1, 3], [1, 3], id="in the order of the vocabulary"),
        pytest.param([0, 1, 2, 3], [-1, 1, 4], [-1, 1, -1], id="outside the vocabulary"),
        pytest.param([3, 0, 9, 2], [0, 2, 5, 9], [1, 3, -1, 2], id="out of order"),
        pytest.param([0, 7, 2, 1], [0, 1, 7], [0, 3, 1], id="some at their place"),
        pytest.param([], [0, 1], [-1, -1], id="no candidates"),
        pytest.param([0, 1], [], [], id="no tokens"),
    ],
)
def test_tokens_are_found_where_they_stand(
    ids: list[int], tokens: list[int], positions: list[int]
) -> None:
    assert candidates(ids).positions(np.array(tokens, np.int64)).tolist() == positions


def test_among_says_for_each_candidate_whether_it_is_one_of_the_tokens() -> None:
    cand = candidates([3, 0, 9, 2])
    assert cand.among(np.array([0, 4, 9])).tolist() == [False, True, True, False]
    assert not cand.among(np.array([], np.int64)).any()


@pytest.mark.parametrize(
    "which",
    [np.array([False, True, False, True]), np.array([1, 3]), slice(1, None, 2)],
    ids=["mask", "positions", "slice"],
)
def test_kept_are_the_same_positions_however_they_are_named(which: slice | Order) -> None:
    cand = candidates([3, 0, 9, 2])
    cand.keep(which)
    assert (cand.ids.tolist(), cand.logits.tolist(), len(cand.p)) == ([0, 2], [1.0, 3.0], 2)


@pytest.mark.parametrize("n", [3, floats._LONG + 1])
def test_the_largest_is_that_of_c_for_short_and_long_rows(n: int) -> None:
    x = np.zeros(n, np.float32)
    x[1:3] = 2, 3
    assert floats.largest(x) == 3
    assert floats.largest(x, np.float32(5)) == 5
    assert np.isnan(floats.largest(x, np.float32(np.nan)))  # nothing is above a NaN
    x[1] = np.nan
    assert floats.largest(x) == 3
    x[0] = np.nan
    assert np.isnan(floats.largest(x))
    assert floats.largest(x, np.float32(-9)) == 3


@pytest.mark.parametrize("n", [3, floats._LONG + 1])
@pytest.mark.parametrize("at", [0, 2, None])
def test_a_nan_is_seen_wherever_it_stands(n: int, at: int | None) -> None:
    x = np.zeros(n, np.float32)
    x[-1] = np.inf
    if at is not None:
        x[at] = np.nan
    assert floats.has_nan(x) is (at is not None)
