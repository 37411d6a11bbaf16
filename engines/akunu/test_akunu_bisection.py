"""top_k by a binary search on values: what it keeps at its end, and before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sampler_parity.engines.akunu.model.bisection import bisected, kept
from tests.support.examples import examples

rows = arrays(
    np.float32, st.integers(1, 40), elements=st.floats(-60000, 60000, width=16, allow_nan=False)
)


@settings(max_examples=examples(60), deadline=None, database=None)
@given(rows, st.integers(1, 40))
def test_at_its_end_it_is_the_cut_at_the_kth_largest_value(row: np.ndarray, k: int) -> None:
    k = min(k, len(row))
    expected = row >= np.sort(row)[-k]
    assert kept(row, k).tolist() == expected.tolist()


@settings(max_examples=examples(60), deadline=None, database=None)
@given(rows, st.integers(1, 40), st.integers(0, 20))
def test_before_its_end_low_loses_none_and_high_keeps_none_too_many(
    row: np.ndarray, k: int, steps: int
) -> None:
    k = min(k, len(row))
    exact = kept(row, k)
    assert not (exact & ~kept(row, k, steps)).any()
    assert not (kept(row, k, steps, cut="high") & ~exact).any()


def test_four_steps_are_too_few_for_eight_tokens_and_four_more_are_not() -> None:
    """From 0 to 16 four steps end at an interval of 1: 8 to 9, where 8.25 and 8.5 are."""
    row = np.array([0, 16, 8.25, 8.5], np.float32)
    assert kept(row, 2, steps=4).nonzero()[0].tolist() == [1, 2, 3]
    assert kept(row, 2, steps=4, cut="high").nonzero()[0].tolist() == [1]
    assert kept(row, 2, steps=8).nonzero()[0].tolist() == [1, 3]


def test_a_masked_token_ends_the_search_that_starts_at_it() -> None:
    row = np.array([4, 3, 2, 1, -np.inf], np.float32)
    assert kept(row, 2, start="smallest").nonzero()[0].tolist() == [0, 1, 2, 3]
    assert kept(row, 2).nonzero()[0].tolist() == [0, 1]


@pytest.mark.parametrize(("ban", "more"), [(-100.0, 0), (-65504.0, 8)])
def test_a_token_far_below_costs_steps(ban: float, more: int) -> None:
    row = np.linspace(0, 20, 64, dtype=np.float32)
    banned = np.append(row, np.float32(ban))
    assert bisected(banned, 8)[2] >= bisected(row, 8)[2] + more
    assert kept(banned, 8).tolist() == [*kept(row, 8), False]


def test_zero_is_the_cap_of_256() -> None:
    assert kept(np.arange(300, dtype=np.float32), 0).sum() == 256
