"""top_n_sigma: mask what is more than n standard deviations below the largest logit."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1.0, [0.0, 0.0, 0.428571, 0.571429]),
        (0.0, [0.1, 0.2, 0.3, 0.4]),
        (3.0, [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_top_n_sigma_leaves_the_published_probabilities(n: float, expected: list[float]) -> None:
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    chain_of(("top_n_sigma", {"n": n}), ("dist", {"seed": 0})).apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("n", "banned"), [(1.0, [0, 2]), (1.9999, [0, 2]), (2.0, []), (3.0, [])])
def test_top_n_sigma_keeps_the_boundary(n: float, banned: list[int]) -> None:
    """-1 1 -1 1: mean 0, deviation 1, threshold 1 - n; at n = 2, -1 is not below -1."""
    cand = applied("top_n_sigma", {"n": n}, [-1.0, 1.0, -1.0, 1.0])
    assert np.flatnonzero(cand.logits == -np.inf).tolist() == banned


@pytest.mark.parametrize("n", [0.0, -1.0])
def test_top_n_sigma_of_zero_or_less_does_nothing(n: float) -> None:
    assert applied("top_n_sigma", {"n": n}, [9.0, 0.0, -9.0]).logits.tolist() == [9.0, 0.0, -9.0]


def test_top_n_sigma_leaves_the_banned_out_of_the_statistics() -> None:
    """Bug zoo 21: 10 9 5 1 0: mean 5, variance 82/5 = 16.4, deviation 4.05: threshold 5.95."""
    cand = applied("top_n_sigma", {"n": 1.0}, [10.0, 9.0, 5.0, 1.0, 0.0, -np.inf])
    assert cand.logits.tolist() == [10.0, 9.0] + [-np.inf] * 4


def test_top_n_sigma_uses_the_population_deviation() -> None:
    """0 and 4: population 2, sample 2.83; n = 1.9: 4 - 3.8 = .2 bans 0, 4 - 5.4 would not."""
    assert applied("top_n_sigma", {"n": 1.9}, [0.0, 4.0]).logits.tolist() == [-np.inf, 4.0]


def test_top_n_sigma_masks_and_keeps_order_p_and_flag() -> None:
    cand = applied("top_n_sigma", {"n": 1.0}, [0.0, 9.0, 8.5])
    assert cand.ids.tolist() == [0, 1, 2]
    assert cand.p.tolist() == [0.0] * 3
    assert not cand.sorted


@pytest.mark.parametrize(
    "logits",
    [[], [5.0], [2.0, 2.0, 2.0], [-np.inf, -np.inf], [-np.inf, 3.0], [0.0, np.inf, 1.0]],
    ids=["none", "one", "equal", "all -inf", "one not -inf", "+inf"],
)
def test_top_n_sigma_changes_nothing_where_nothing_deviates(logits: list[float]) -> None:
    """Equal: deviation 0, nothing is below the maximum. +inf: the deviation is NaN."""
    assert applied("top_n_sigma", {"n": 0.5}, logits).logits.tolist() == logits


def test_top_n_sigma_masks_nothing_next_to_a_nan() -> None:
    assert applied("top_n_sigma", {"n": 0.5}, [0.0, np.nan, 9.0]).logits[[0, 2]].tolist() == [0, 9]


def test_top_n_sigma_masks_nothing_where_the_squares_overflow() -> None:
    """(1e20)**2 is beyond float32: deviation +inf, threshold -inf."""
    logits = [1e20, -1e20]
    assert applied("top_n_sigma", {"n": 0.5}, logits).logits.tolist() == pytest.approx(logits)
