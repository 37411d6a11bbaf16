"""top_p: the smallest set of most likely candidates whose mass reaches p."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0, [1.0]),
        (0.7, [0.571429, 0.428571]),
        (0.8, [0.44444, 0.33333, 0.22222]),
        (1.0, [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_top_p_leaves_the_published_probabilities(p: float, expected: list[float]) -> None:
    """llama.cpp's test_top_p over p = .1 .2 .3 .4, normalized by dist."""
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    chain_of(("top_p", {"p": p}), ("dist", {"seed": 0})).apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


def test_top_p_keeps_the_token_that_crosses() -> None:
    """.5 < .7 <= .5 + .3. Bug zoo 3: a break before the crossing token leaves one."""
    assert applied("top_p", {"p": 0.7}, logs(0.5, 0.3, 0.15, 0.05)).ids.tolist() == [0, 1]


@pytest.mark.parametrize(("p", "n"), [(0.499999, 2), (0.5, 2), (0.5000001, 3)])
def test_top_p_takes_exactly_p_as_reached(p: float, n: int) -> None:
    """Four equal logits: p = .25 exactly, sums .25 .5 .75 1. float32(.5000001) is above .5."""
    assert len(applied("top_p", {"p": p}, [1.0] * 4)) == n


@pytest.mark.parametrize("p", [-1.0, 0.0, 1e-45])
def test_top_p_of_zero_or_less_keeps_one(p: float) -> None:
    assert applied("top_p", {"p": p}, logs(0.2, 0.5, 0.3)).ids.tolist() == [1]


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_top_p_of_one_or_more_does_nothing(p: float) -> None:
    cand = applied("top_p", {"p": p}, logs(0.2, 0.5, 0.3))
    assert cand.ids.tolist() == [0, 1, 2]
    assert cand.p.tolist() == [0.0] * 3
    assert not cand.sorted


def test_top_p_writes_probabilities_of_the_set_before_the_cut() -> None:
    cand = applied("top_p", {"p": 0.6}, logs(0.5, 0.3, 0.2))
    assert cand.p == pytest.approx([0.5, 0.3], abs=1e-6)
    assert cand.sorted


@pytest.mark.parametrize(
    ("min_keep", "n"), [(0, 2), (1, 2), (2, 2), (3, 3), (4, 4), (5, 4), (2**63 - 1, 4)]
)
def test_top_p_keeps_min_keep_or_all(min_keep: int, n: int) -> None:
    assert len(applied("top_p", {"p": 0.5, "min_keep": min_keep}, [1.0] * 4)) == n


def test_top_p_orders_ties_as_the_sort_does() -> None:
    """partial_sort of all of four equals: make_heap turns 0 1 2 3 into 2 3 0 1 (a hole sinks to a
    leaf, to the right child among equals, before its value returns). Each pop moves the front to
    the end: 0 3 1 | 2, then 3 1 | 0 2, then 1 | 3 0 2.
    """
    assert applied("top_p", {"p": 0.99}, [1.0] * 4).ids.tolist() == [1, 3, 0, 2]


def test_top_p_keeps_a_single_candidate_and_drops_the_banned() -> None:
    assert applied("top_p", {"p": 0.9}, [-5.0]).ids.tolist() == [0]
    assert applied("top_p", {"p": 0.9}, [-np.inf, 0.0, -np.inf]).ids.tolist() == [1]


def test_top_p_keeps_all_where_all_are_banned() -> None:
    """exp(-inf - -inf) is NaN: the sum is never at least p."""
    cand = applied("top_p", {"p": 0.9}, [-np.inf] * 3)
    assert len(cand) == 3
    assert np.isnan(cand.p).all()


@pytest.mark.parametrize(("p", "n"), [(0.9999999, 8192), (0.5, 4096), (0.25, 2048)])
def test_top_p_counts_equals_exactly(p: float, n: int) -> None:
    """8,192 equals: p = 2**-13, and float32 holds every partial sum exactly."""
    assert len(applied("top_p", {"p": p}, np.zeros(8192))) == n


@pytest.mark.parametrize("n", [1024, 1025])
@pytest.mark.parametrize("p", [0.001, 0.2, 0.9])
def test_top_p_keeps_the_same_tokens_by_either_sort(n: int, p: float) -> None:
    """Beyond 1,024 the 256 largest are tried first, which reach .2 but not .9 (their mass is about
    1 - exp(-1.5) = .78); distinct logits make the order unique."""
    logits = np.random.default_rng(n).permutation(np.linspace(-3, 3, n)).astype(np.float32)
    likelihood = np.sort(np.exp(logits.astype(float)))[::-1]
    mass = np.cumsum(likelihood) / likelihood.sum()
    expected = np.argsort(-logits)[: int((mass < p).sum()) + 1]
    assert applied("top_p", {"p": p}, logits).ids.tolist() == expected.tolist()


def test_top_p_refuses_no_candidates_and_nan() -> None:
    with pytest.raises(
        UndefinedInputError, match=r"^softmax of no candidates \(llama.cpp aborts\)$"
    ):
        applied("top_p", {"p": 0.5}, [])
    with pytest.raises(UndefinedInputError, match=r"^logit of token 2 is NaN: sorting it"):
        applied("top_p", {"p": 0.5}, [0.0, 1.0, np.nan])
