"""top_k: exactly min(k, n) candidates, in descending order."""

import numpy as np
import pytest

from sampler_parity.reference import UndefinedInputError
from tests.support.applied import applied


@pytest.mark.parametrize(
    ("k", "ids"), [(1, [2]), (2, [2, 0]), (3, [2, 0, 1]), (4, [2, 0, 1]), (2**31 - 1, [2, 0, 1])]
)
def test_top_k_keeps_the_k_largest_in_order(k: int, ids: list[int]) -> None:
    cand = applied("top_k", {"k": k}, [2.0, 1.0, 3.0])
    assert cand.ids.tolist() == ids
    assert cand.sorted
    assert cand.p.tolist() == [0.0] * len(ids)


def test_top_k_takes_ties_in_the_order_of_a_heap() -> None:
    """partial_sort of 2 in [1, 2, 2, 3]: the heap {1, 2} has its smallest, 1, on top; the third
    (2 > 1) replaces it: {2, 2'}, with the first 2 or the second on top; then 3 replaces the top.

    make_heap puts the smaller 1 (id 0) first. 2 (id 2) replaces it and sinks to the hole: its
    only child is id 1; a hole at a leaf takes the value without comparison, then it is pushed up
    while the parent is larger: 2 > 2 is false, so id 1 is on top and id 2 below. 3 replaces id 1.
    """
    assert applied("top_k", {"k": 2}, [1.0, 2.0, 2.0, 3.0]).ids.tolist() == [3, 2]


def test_top_k_refuses_nan_where_it_must_sort() -> None:
    message = "^logit of token 1 is NaN: sorting it is undefined in llama.cpp$"
    with pytest.raises(UndefinedInputError, match=message):
        applied("top_k", {"k": 1}, [0.0, np.nan])
    assert len(applied("top_k", {"k": 0}, [0.0, np.nan])) == 2
    assert len(applied("top_k", {"k": 1}, [np.nan])) == 1
