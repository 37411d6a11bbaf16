"""xtc: with probability p, drop all top choices but the least likely.

The seed is mt19937's default, 5489, whose first uniform floats are .814724, .135477, .905792.
"""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import SEED, WORDS, applied, chain_of, logs


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (0.09, [0.1]),
        (0.19, [0.2, 0.1]),
        (0.29, [0.3, 0.2, 0.1]),
        (0.39, [0.4, 0.3, 0.2, 0.1]),
    ],
)
def test_xtc_leaves_the_published_probabilities(t: float, expected: list[float]) -> None:
    """llama.cpp's test_xtc: p = .99, seed 0."""
    parameters = {"p": 0.99, "t": t, "min_keep": 0, "seed": 0}
    cand = applied("xtc", parameters, logs(0.4, 0.3, 0.2, 0.1))
    assert cand.p == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("p", "ids"),
    [
        (0.8147, [0, 1, 2]),
        (WORDS[0] / 2**32, [1, 2]),  # exactly the number
        (0.8148, [1, 2]),
        (1.0, [1, 2]),
    ],
)
def test_xtc_acts_where_the_number_is_at_most_p(p: float, ids: list[int]) -> None:
    """The first number is .814724. p = .5 .4 .1, two of them at least .3."""
    parameters = {"p": p, "t": 0.3, "seed": SEED}
    cand = applied("xtc", parameters, logs(0.5, 0.4, 0.1))
    assert cand.ids.tolist() == ids
    assert cand.sorted == (p > 0.8147)


def test_xtc_draws_one_number_at_every_step() -> None:
    """.814724 no, .135477 yes, .905792 no, .835009 no, .126987 yes."""
    chain = chain_of(("xtc", {"p": 0.5, "t": 0.3, "seed": SEED}))
    sizes = []
    for _ in range(5):
        cand = Candidates.from_logits(logs(0.5, 0.4, 0.1))
        chain.apply(cand)
        sizes.append(len(cand))
    assert sizes == [3, 2, 3, 3, 2]


def test_xtc_draws_nothing_for_fewer_than_two_candidates() -> None:
    chain = chain_of(("xtc", {"p": 0.82, "t": 0.3, "seed": SEED}))
    for logits in ([], [1.0]):
        chain.apply(Candidates.from_logits(logits))
    cand = Candidates.from_logits(logs(0.5, 0.4, 0.1))
    chain.apply(cand)
    assert len(cand) == 2  # by .814724; by .905792 it would be 3


def test_xtc_keeps_the_least_likely_top_choice() -> None:
    """Bug zoo 25: logits 4 3 2 -10 -10: p = .67 .24 .09, and t = .08 makes three top choices."""
    parameters = {"p": 1.0, "t": 0.08, "seed": SEED}
    cand = applied("xtc", parameters, [4.0, 3.0, 2.0, -10.0, -10.0])
    assert cand.ids[0] == 2
    assert set(cand.ids.tolist()) == {2, 3, 4}


@pytest.mark.parametrize(("t", "n"), [(0.25, 1), (0.2500001, 4)])
def test_xtc_counts_exactly_t_as_a_top_choice(t: float, n: int) -> None:
    """Four equals, p = .25 exactly."""
    assert len(applied("xtc", {"p": 1.0, "t": t, "seed": SEED}, [1.0] * 4)) == n


@pytest.mark.parametrize(("t", "n"), [(0.5, 1), (0.5000001, 2)])
def test_xtc_is_disabled_above_one_half(t: float, n: int) -> None:
    assert len(applied("xtc", {"p": 1.0, "t": t, "seed": SEED}, [1.0, 1.0])) == n


@pytest.mark.parametrize("p", [0.0, -1.0])
def test_xtc_is_disabled_at_probability_zero(p: float) -> None:
    cand = applied("xtc", {"p": p, "t": 0.1, "seed": SEED}, [1.0, 2.0])
    assert cand.ids.tolist() == [0, 1]
    assert not cand.sorted


def test_xtc_leaves_a_single_top_choice() -> None:
    assert len(applied("xtc", {"p": 1.0, "t": 0.4, "seed": SEED}, logs(0.5, 0.3, 0.2))) == 3


@pytest.mark.parametrize(("min_keep", "n"), [(0, 2), (2, 2), (3, 4), (9, 4)])
def test_xtc_removes_nothing_where_fewer_than_min_keep_would_stay(min_keep: int, n: int) -> None:
    """.4 .3 .2 .1, t = .15: three top choices, two would stay."""
    parameters = {"p": 1.0, "t": 0.15, "min_keep": min_keep, "seed": SEED}
    assert len(applied("xtc", parameters, logs(0.4, 0.3, 0.2, 0.1))) == n


def test_xtc_with_threshold_zero_leaves_the_last() -> None:
    assert applied("xtc", {"p": 1.0, "t": 0.0, "seed": SEED}, [3.0, 1.0, 2.0]).ids.tolist() == [1]


def test_xtc_leaves_all_where_all_are_banned() -> None:
    """Every p is NaN, and NaN >= t is false."""
    assert len(applied("xtc", {"p": 1.0, "t": 0.1, "seed": SEED}, [-np.inf] * 3)) == 3


def test_xtc_refuses_nan_where_it_sorts() -> None:
    with pytest.raises(UndefinedInputError, match=r"^logit of token 0 is NaN"):
        applied("xtc", {"p": 1.0, "t": 0.1, "seed": SEED}, [np.nan, 0.0])


def test_xtc_starts_over_on_reset_and_goes_on_in_a_clone() -> None:
    chain = chain_of(("xtc", {"p": 0.5, "t": 0.3, "seed": SEED}))

    def size(of: object = chain) -> int:
        cand = Candidates.from_logits(logs(0.5, 0.4, 0.1))
        of.apply(cand)  # type: ignore[attr-defined]
        return len(cand)

    assert size() == 3
    twin = chain.clone()
    assert [size(), size(twin), size(), size(twin)] == [2, 2, 3, 3]
    chain.reset()
    assert [size(), size()] == [3, 2]
