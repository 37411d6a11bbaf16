"""TokenHistoryTracker and the penalties, in both languages."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.tsampler.model.history import (
    PenaltyParams,
    TokenHistoryTracker,
)
from tests.support.case_tables import cases_of
from tests.support.tsampler_node import run_js

PROGRAMS = cases_of(__file__)

TOKENS = st.lists(st.integers(0, 6), max_size=40)


@given(TOKENS, st.integers(-1, 9))
def test_history_counts_the_last_n_tokens(tokens: list[int], last_n: int) -> None:
    tracker = TokenHistoryTracker(last_n)
    for i, token in enumerate(tokens):
        tracker.accept(token)
        window = tokens[max(0, i + 1 - last_n) : i + 1] if last_n > 0 else []
        counts = Counter(window)
        assert tracker.size() == len(window)
        assert {t: tracker.get_count(t) for t in range(8)} == {t: counts[t] for t in range(8)}
        assert sorted(tracker.unique_tokens()) == sorted(counts)
        assert all(tracker.has_token(t) == (t in counts) for t in range(8))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(TOKENS, st.integers(0, 9)), min_size=20, max_size=20))
@pytest.mark.slow
def test_typescript_history_is_the_same(runs: list[tuple[list[int], int]]) -> None:
    results = run_js(PROGRAMS["history"], runs)
    for (tokens, last_n), theirs in zip(runs, results, strict=True):
        tracker, ours = TokenHistoryTracker(last_n), []
        for token in tokens:
            tracker.accept(token)
            counts = [tracker.get_count(t) for t in range(7)]
            ours.append([tracker.size(), tracker.unique_tokens(), counts])
        assert ours == theirs


def test_reset_forgets_everything() -> None:
    tracker = TokenHistoryTracker(4)
    tracker.accept(3)
    tracker.reset()
    assert (tracker.size(), tracker.unique_tokens(), tracker.get_count(3)) == (0, [], 0)
    results = run_js(PROGRAMS["reset"])
    assert results == [1, [5], False]


def test_neutral_penalties_would_change_nothing() -> None:
    assert not PenaltyParams().any
    assert all(
        p.any for p in (PenaltyParams(0.5), PenaltyParams(freq=-1), PenaltyParams(present=1))
    )
    results = run_js(PROGRAMS["neutral"])
    assert results == [False, False, True, True, True]


def test_low_level_functions_change_logits_in_place_one_penalty_each() -> None:
    results = run_js(PROGRAMS["low_level"])
    assert results == [[2, -2, 3], [3.5, -1.25, 3], [3.5, -1.5, 3], [1, -2.75, 3]]
