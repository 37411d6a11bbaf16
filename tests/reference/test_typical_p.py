"""typical_p: the candidates whose surprise is closest to the entropy."""

import numpy as np
import pytest

from sampler_parity.reference import UndefinedInputError
from tests.support.applied import applied, logs


@pytest.mark.parametrize(
    ("probs", "expected"),
    [((0.97, 0.01, 0.01, 0.01), [0.97]), ((0.4, 0.2, 0.2, 0.2), [0.2, 0.2, 0.2])],
)
def test_typical_p_leaves_the_published_probabilities(
    probs: tuple[float, ...], expected: list[float]
) -> None:
    """llama.cpp's test_typical at p = .5."""
    assert applied("typical_p", {"p": 0.5}, logs(*probs)).p == pytest.approx(expected, abs=1e-5)


def test_typical_p_takes_the_absolute_distance_ascending() -> None:
    """p = .6 .2 .1 .06 .04: H = .306 + .322 + .230 + .169 + .129 = 1.156; surprises .511 1.609
    2.303 2.813 3.219; distances .646 .453 1.146 1.657 2.063: order 1 0 2 3 4, sums .2 .8 > .3.
    The signed distance gives {0}, the descending order {0, 2, 3, 4}.
    """
    cand = applied("typical_p", {"p": 0.3}, logs(0.6, 0.2, 0.1, 0.06, 0.04))
    assert cand.ids.tolist() == [1, 0]
    assert not cand.sorted


@pytest.mark.parametrize(("p", "n"), [(0.4999, 2), (0.5, 3), (0.74, 3), (0.75, 4), (0.9999, 4)])
def test_typical_p_must_exceed_p(p: float, n: int) -> None:
    """Four equals: p = .25 exactly, sums .25 .5 .75 1, and .5 > .5 is false."""
    assert len(applied("typical_p", {"p": p}, [2.0] * 4)) == n


@pytest.mark.parametrize(("min_keep", "n"), [(0, 2), (1, 2), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_typical_p_keeps_min_keep_or_all(min_keep: int, n: int) -> None:
    assert len(applied("typical_p", {"p": 0.3, "min_keep": min_keep}, [2.0] * 4)) == n


@pytest.mark.parametrize("p", [-1.0, 0.0])
def test_typical_p_of_zero_or_less_keeps_the_most_typical(p: float) -> None:
    assert applied("typical_p", {"p": p}, logs(0.6, 0.2, 0.1, 0.06, 0.04)).ids.tolist() == [1]


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_typical_p_of_one_or_more_does_nothing(p: float) -> None:
    cand = applied("typical_p", {"p": p}, [0.0, 1.0])
    assert cand.ids.tolist() == [0, 1]
    assert cand.p.tolist() == [0.0, 0.0]


def test_typical_p_keeps_a_single_candidate() -> None:
    """One candidate: H = 0, distance 0, sum 1 > p."""
    assert applied("typical_p", {"p": 0.5}, [3.0]).p.tolist() == [1.0]


def test_typical_p_is_arbitrary_next_to_a_banned_token() -> None:
    """0 * log 0 is NaN, every distance is NaN and no comparison of the sort is true. Insertion sort
    (n <= 16) then leaves the sorted order: [2, 1, 3, 0], sums .5 .8 1."""
    cand = applied("typical_p", {"p": 0.7}, [-np.inf, *logs(0.3, 0.5, 0.2)])
    assert cand.ids.tolist() == [2, 1]


def test_typical_p_refuses_no_candidates_and_nan() -> None:
    with pytest.raises(UndefinedInputError, match=r"^softmax of no candidates"):
        applied("typical_p", {"p": 0.5}, [])
    with pytest.raises(UndefinedInputError, match=r"^logit of token 0 is NaN"):
        applied("typical_p", {"p": 0.5}, [np.nan, 0.0])
