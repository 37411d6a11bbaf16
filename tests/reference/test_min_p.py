"""min_p: candidates at least p times as likely as the most likely one, compared as logits."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.00, [0.1, 0.2, 0.3, 0.4]),
        (0.24, [0.1, 0.2, 0.3, 0.4]),
        (0.26, [0.2 / 0.9, 0.3 / 0.9, 0.4 / 0.9]),
        (0.49, [0.2 / 0.9, 0.3 / 0.9, 0.4 / 0.9]),
        (0.51, [0.3 / 0.7, 0.4 / 0.7]),
        (0.74, [0.3 / 0.7, 0.4 / 0.7]),
        (0.76, [1.0]),
        (1.00, [1.0]),
        (1.05, [1.0]),
    ],
)
def test_min_p_leaves_the_published_probabilities(p: float, expected: list[float]) -> None:
    """llama.cpp's test_min_p over p = .1 .2 .3 .4, normalized by dist."""
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    chain_of(("min_p", {"p": p}), ("dist", {"seed": 0})).apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


def test_min_p_compares_logits_not_probabilities() -> None:
    """Bug zoo 20: exp(-2.3025851) < float32(.1), but -2.3025851 >= logf(.1f)."""
    cand = applied("min_p", {"p": 0.1}, [0.0, -2.3025851, -9.0])
    assert cand.ids.tolist() == [0, 1]
    assert cand.p.tolist() == [0.0, 0.0]


def test_min_p_keeps_the_boundary_and_drops_the_next_float() -> None:
    """The threshold is 5 + logf(.5f) in float32."""
    threshold = np.float32(5) + np.float32(np.log(0.5))
    below = np.nextafter(threshold, np.float32(0))
    assert applied("min_p", {"p": 0.5}, [threshold, 5.0, below]).ids.tolist() == [0, 1]


@pytest.mark.parametrize("is_sorted", [False, True])
def test_min_p_keeps_the_order_and_all_equals(is_sorted: bool) -> None:
    cand = Candidates.from_logits([3.0, 3.0, 3.0, 0.0] if is_sorted else [3.0, 0.0, 3.0, 3.0])
    cand.sorted = is_sorted
    chain_of(("min_p", {"p": 0.9})).apply(cand)
    assert cand.ids.tolist() == ([0, 1, 2] if is_sorted else [0, 2, 3])
    assert cand.sorted == is_sorted


@pytest.mark.parametrize("p", [0.0, -1.0])
def test_min_p_of_zero_or_less_does_nothing(p: float) -> None:
    assert applied("min_p", {"p": p}, [1.0, -np.inf, 3.0]).ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("min_keep", "ids", "is_sorted"),
    [
        (0, [1], False),
        (1, [1], False),
        (2, [1, 2], True),
        (3, [1, 2, 0], True),
        (9, [1, 2, 0], True),
    ],
)
def test_min_p_sorts_only_where_too_few_pass(
    min_keep: int, ids: list[int], is_sorted: bool
) -> None:
    cand = applied("min_p", {"p": 0.5, "min_keep": min_keep}, [0.0, 9.0, 5.0])
    assert cand.ids.tolist() == ids
    assert cand.sorted == is_sorted


def test_min_p_above_one_keeps_the_first_of_the_sorted() -> None:
    """log(1.5) > 0: nothing reaches the threshold, so the sort is asked and one token stays."""
    cand = applied("min_p", {"p": 1.5}, [1.0, 4.0, 2.0])
    assert cand.ids.tolist() == [1]
    assert cand.sorted


def test_min_p_drops_the_banned() -> None:
    assert applied("min_p", {"p": 1e-45}, [-np.inf, 0.0]).ids.tolist() == [1]


def test_min_p_keeps_all_where_all_are_banned() -> None:
    """-inf < -inf + log(p) is false."""
    cand = applied("min_p", {"p": 0.5}, [-np.inf] * 3)
    assert len(cand) == 3
    assert cand.sorted


def test_min_p_drops_nan_and_refuses_to_sort_it() -> None:
    assert applied("min_p", {"p": 0.5}, [np.nan, 1.0, 1.0]).ids.tolist() == [1, 2]
    with pytest.raises(UndefinedInputError, match=r"^logit of token 0 is NaN: sorting it"):
        applied("min_p", {"p": 0.5, "min_keep": 3}, [np.nan, 1.0, 1.0])


def test_min_p_of_none_is_none() -> None:
    assert len(applied("min_p", {"p": 0.5}, [])) == 0
