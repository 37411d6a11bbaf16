"""penalties: make the tokens of the recent history less likely."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.penalties import Penalties
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("history", "expected", "parameters"),
    [
        ([0], [0, 0.25, 0.25, 0.25, 0.25], (50, 0, 0)),
        ([0, 1, 2], [0, 0, 0, 0.5, 0.5], (50, 0, 0)),
        ([0, 1, 2, 0, 0], [0, 0, 0, 0.5, 0.5], (50, 0, 0)),
        ([0], [0.000011, 0.249997, 0.249997, 0.249997, 0.249997], (1, 5, 5)),
        ([0, 1, 2], [0.000023, 0.000023, 0.000023, 0.499966, 0.499966], (1, 5, 5)),
        ([0, 1, 2, 0, 0], [0.000000, 0.000023, 0.000023, 0.499977, 0.499977], (1, 5, 5)),
    ],
)
def test_penalties_leave_the_published_probabilities(
    history: list[int], expected: list[float], parameters: tuple[float, float, float]
) -> None:
    """llama.cpp's test_penalties over five equals; the window is as long as the history."""
    names = ("penalty_repeat", "penalty_freq", "penalty_present")
    settings = {"penalty_last_n": len(history), **dict(zip(names, parameters, strict=True))}
    chain = chain_of(("penalties", settings), ("dist", {"seed": 0}))
    for token in history:
        chain.accept(token)
    cand = Candidates.from_logits(logs(*[0.2] * 5))
    chain.apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


def _penalized(
    logits: Sequence[float], history: Sequence[int], last_n: int = 64, **parameters: Any
) -> list[float]:
    settings = {"penalty_last_n": last_n, **parameters}
    result: list[float] = applied("penalties", settings, logits, history=history).logits.tolist()
    return result


def test_penalties_divide_positive_and_multiply_negative_logits() -> None:
    """Bug zoo 31: 2 / 1.5 = 1.3333, -2 * 1.5 = -3; what was not seen stays."""
    assert _penalized([2.0, -2.0, 2.0], [0, 1], penalty_repeat=1.5) == pytest.approx(
        [4 / 3, -3.0, 2.0]
    )


def test_penalties_repeat_once_however_often_a_token_came() -> None:
    """Bug zoo 32: 2 / 1.5, not 2 / 1.5**3."""
    assert _penalized([2.0], [0, 0, 0], penalty_repeat=1.5) == pytest.approx([4 / 3])


def test_penalties_subtract_frequency_per_count_and_presence_once() -> None:
    """Bug zoo 40: 3 times: 3 * .5 + .25 = 1.75. The repetition factor comes first: 8 / 2 = 4."""
    settings: dict[str, Any] = {"penalty_repeat": 2.0, "penalty_freq": 0.5, "penalty_present": 0.25}
    assert _penalized([8.0, 8.0], [0, 0, 0], **settings) == [4 - 1.75, 8.0]


def test_penalties_below_zero_favour_what_was_seen() -> None:
    assert _penalized([1.0, 1.0], [1], penalty_present=-0.5) == [1.0, 1.5]


def test_penalties_see_the_last_n_tokens_only() -> None:
    """Bug zoo 36: history 1 2 3 4 5, window 2: 4 and 5."""
    assert _penalized([0.0] * 6, [1, 2, 3, 4, 5], 2, penalty_present=1.0) == [0, 0, 0, 0, -1, -1]


def test_penalties_count_within_the_window() -> None:
    """0 1 0 1 0, window 3: 0 twice, 1 once; one more 1: 1 twice."""
    sampler = Penalties(3, penalty_freq=1.0)
    for token in (0, 1, 0, 1, 0):
        sampler.accept(token)
    cand = Candidates.from_logits([0.0, 0.0])
    sampler.apply(cand)
    assert cand.logits.tolist() == [-2.0, -1.0]
    sampler.accept(1)
    sampler.apply(cand)
    assert cand.logits.tolist() == [-3.0, -3.0]


@pytest.mark.parametrize("last_n", [0, -1, -(2**31)])
def test_penalties_without_a_window_do_nothing(last_n: int) -> None:
    """Not the context size for -1: llama.cpp raises a negative length to 0."""
    cand = Candidates.from_logits([1.0, 2.0])
    cand.sorted = True
    chain = chain_of(("penalties", {"penalty_last_n": last_n, "penalty_repeat": 2.0}))
    chain.accept(1)
    chain.apply(cand)
    assert cand.logits.tolist() == [1.0, 2.0]
    assert cand.sorted


def test_penalties_without_any_penalty_do_nothing() -> None:
    cand = Candidates.from_logits([1.0])
    cand.sorted = True
    chain = chain_of(("penalties", {"penalty_last_n": 64}))
    chain.accept(0)
    chain.apply(cand)
    assert (cand.logits.tolist(), cand.sorted) == ([1.0], True)


def test_penalties_clear_the_sorted_flag_even_without_a_history() -> None:
    cand = Candidates.from_logits([2.0, 1.0])
    cand.sorted = True
    chain_of(("penalties", {"penalty_last_n": 8, "penalty_repeat": 2.0})).apply(cand)
    assert (cand.logits.tolist(), cand.sorted) == ([2.0, 1.0], False)


@pytest.mark.parametrize(
    ("logit", "expected"),
    [(0.0, -1.0), (-0.0, -1.0), (-np.inf, -np.inf), (np.inf, np.inf), (1e-45, -1.0)],
)
def test_penalties_meet_extremes(logit: float, expected: float) -> None:
    """Repeat 2, presence 1: 0 * 2 - 1; infinities stay; the smallest denormal / 2 rounds to 0."""
    assert _penalized([logit], [0], penalty_repeat=2.0, penalty_present=1.0) == [expected]


def test_penalties_keep_nan_to_itself() -> None:
    result = _penalized([np.nan, 4.0], [0, 1], penalty_repeat=2.0)
    assert np.isnan(result[0])
    assert result[1] == 2.0


def test_penalties_ignore_ids_outside_the_vocabulary() -> None:
    history = [99, -1, -(2**31), 2**31 - 1, 1]
    assert _penalized([2.0, 2.0], history, penalty_repeat=2.0) == [2.0, 1.0]
    assert _penalized([], [0], penalty_repeat=2.0) == []


def test_penalties_find_tokens_by_id_not_by_position() -> None:
    cand = Candidates.from_logits([1.0, 2.0, 3.0])
    cand.keep(np.array([2, 0]))
    chain = chain_of(("penalties", {"penalty_last_n": 8, "penalty_present": 1.0}))
    chain.accept(2)
    chain.apply(cand)
    assert cand.logits.tolist() == [2.0, 1.0]


def test_penalties_forget_on_reset_and_copy_the_history_into_a_clone() -> None:
    sampler = Penalties(2, penalty_present=1.0)
    sampler.accept(0)
    twin = sampler.clone()
    twin.accept(1)
    sampler.reset()
    for each, expected in ((sampler, [0.0, 0.0]), (twin, [-1.0, -1.0])):
        cand = Candidates.from_logits([0.0, 0.0])
        each.apply(cand)
        assert cand.logits.tolist() == expected


@pytest.mark.parametrize("value", [0, 0.0, -1.0, 1e-50])
def test_penalties_refuse_a_factor_that_is_not_positive(value: float) -> None:
    """1e-50 is 0 in float32."""
    with pytest.raises(ChainError, match=r"^penalty_repeat must be greater than 0, got "):
        Penalties(64, penalty_repeat=value)
