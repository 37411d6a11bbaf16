"""logit_bias: a constant added to the logits of named tokens."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.logit_bias import LogitBias
from tests.support.applied import applied, chain_of

INF = float("inf")


@pytest.mark.parametrize(
    ("biases", "expected"),
    [
        ([[1, 1.5]], [1.0, 3.5, 3.0]),
        ([[0, -INF]], [-INF, 2.0, 3.0]),
        ([[2, INF]], [1.0, 2.0, INF]),
        ([[0, 1], [0, 2]], [4.0, 2.0, 3.0]),
        ([], [1.0, 2.0, 3.0]),
        ([[3, 1.0], [-1, 1.0], [2**31 - 1, 1.0], [-(2**31), 1.0]], [1.0, 2.0, 3.0]),
        ([[0, 0.0]], [1.0, 2.0, 3.0]),
    ],
    ids=["typical", "ban", "push", "twice", "empty", "outside the vocabulary", "zero"],
)
def test_logit_bias_adds(biases: list[list[float]], expected: list[float]) -> None:
    cand = applied("logit_bias", {"logit_bias": biases}, [1.0, 2.0, 3.0])
    assert cand.logits.tolist() == expected
    assert cand.ids.tolist() == [0, 1, 2]


def test_logit_bias_finds_moved_tokens_by_id_and_adds_only_the_first_of_two() -> None:
    """Ids 2 1 0: id 1 stands at position 1 and gets both biases, id 0 only its first."""
    cand = Candidates.from_logits([0.0, 0.0, 0.0])
    cand.keep(np.array([2, 1, 0]))
    biases = [[0, 1.0], [0, 10.0], [1, 1.0], [1, 10.0]]
    chain_of(("logit_bias", {"logit_bias": biases})).apply(cand)
    assert cand.logits.tolist() == [0.0, 11.0, 1.0]


def test_logit_bias_leaves_the_sorted_flag() -> None:
    cand = Candidates.from_logits([3.0, 2.0])
    cand.sorted = True
    chain_of(("logit_bias", {"logit_bias": [[1, 5.0]]})).apply(cand)
    assert (cand.logits.tolist(), cand.sorted) == ([3.0, 7.0], True)


@pytest.mark.parametrize(
    ("logit", "bias", "expected"), [(-INF, 5.0, -INF), (3e38, 3e38, INF), (1e10, 1.0, 1e10)]
)
def test_logit_bias_meets_extremes(logit: float, bias: float, expected: float) -> None:
    assert applied("logit_bias", {"logit_bias": [[0, bias]]}, [logit]).logits.tolist() == [expected]


def test_logit_bias_of_infinity_on_minus_infinity_is_nan() -> None:
    assert np.isnan(applied("logit_bias", {"logit_bias": [[0, INF]]}, [-INF]).logits[0])


def test_logit_bias_of_none_is_none() -> None:
    assert len(applied("logit_bias", {"logit_bias": [[0, 1.0]]}, [])) == 0


@pytest.mark.parametrize(
    ("biases", "message"),
    [
        ({"0": 1.0}, r"^logit_bias must be a list of \[token, bias\], got {'0': 1.0}$"),
        ([[0]], r"^logit_bias must hold pairs \[token, bias\], got \[0\]$"),
        ([[0.5, 1.0]], "^token must be an integer, got 0.5$"),
        ([[0, float("nan")]], "^bias must not be NaN$"),
        ([[0, "1"]], "^bias must be a number, got '1'$"),
        ([[True, 1.0]], "^token must be an integer, got True$"),
    ],
)
def test_logit_bias_refuses_what_is_no_list_of_pairs(biases: Any, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        LogitBias(biases)


def test_logit_bias_clone_is_the_same_and_apart() -> None:
    sampler = LogitBias([[0, 1.0]])
    twin = sampler.clone()
    assert twin.logit_bias == sampler.logit_bias
    assert twin.logit_bias is not sampler.logit_bias
