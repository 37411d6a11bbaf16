"""top_p: the smallest set of most likely candidates whose mass reaches p."""

import pytest

from tests.support.applied import applied, logs


def test_top_p_writes_probabilities_of_the_set_before_the_cut() -> None:
    cand = applied("top_p", {"p": 0.6}, logs(0.5, 0.3, 0.2))
    assert cand.p == pytest.approx([0.5, 0.3], abs=1e-6)
    assert cand.sorted


def test_top_p_orders_ties_as_the_sort_does() -> None:
    """partial_sort of all of four equals: make_heap turns 0 1 2 3 into 2 3 0 1 (a hole sinks to a
    leaf, to the right child among equals, before its value returns). Each pop moves the front to
    the end: 0 3 1 | 2, then 3 1 | 0 2, then 1 | 3 0 2.
    """
    assert applied("top_p", {"p": 0.99}, [1.0] * 4).ids.tolist() == [1, 3, 0, 2]
