"""transformers_js: Transformers.js's generate by hand."""

import math
import random

import numpy as np
import pytest

from sampler_parity.engines.transformers_js.model import (
    TransformersJs,
    banned,
    penalize,
    weighted_index,
)
from sampler_parity.reference import Candidates
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


def tokens(sampler: TransformersJs, logits: list[float], n: int = 1) -> list[int]:
    cand = Candidates.from_logits(np.array(logits, np.float32))
    selected = []
    for _ in range(n):
        sampler.apply(cand)
        selected.append(cand.selected)
    return selected


@pytest.mark.parametrize(
    ("uniform", "index"),
    [(0.0, 0), (0.2499, 0), (0.25, 1), (0.7499, 1), (0.75, 2), (0.9999, 2)],
)
def test_the_walk_stops_where_less_than_nothing_is_left(uniform: float, index: int) -> None:
    assert weighted_index(np.array([0.25, 0.5, 0.25]), uniform) == index


def test_where_nothing_is_a_number_the_walk_ends_at_the_last() -> None:
    assert weighted_index(np.full(3, math.nan), 0.0) == 2


def test_the_numbers_are_those_of_pythons_random() -> None:
    rng = random.Random(5)
    halves = [int(rng.random() >= 0.5) for _ in range(32)]
    assert tokens(TransformersJs(5, do_sample=True), [1.0, 1.0], 32) == halves


def test_a_penalty_counts_once_and_divides_what_is_not_below_zero() -> None:
    logits = np.array([2.0, -2.0, 0.0, 5.0], np.float32)
    penalize(logits, [0, 1, 1, 2, 9, -1], 2.0)
    assert logits.tolist() == [1.0, -4.0, 0.0, 5.0]


@pytest.mark.parametrize(("text", "n", "tokens"), CASES["ngrams"])
def test_the_ends_of_ngrams_that_came_before_are_banned(
    text: list[int], n: int, tokens: list[int]
) -> None:
    assert banned(text, n, 8) == tokens


def test_of_top_k_2_the_third_token_never_comes() -> None:
    assert set(tokens(TransformersJs(1, do_sample=True, top_k=2), [0, 0, 0], 64)) == {0, 1}


def test_of_the_argmax_a_nan_in_front_stays_and_others_are_passed_over() -> None:
    assert tokens(TransformersJs(1), [math.nan, 1.0]) == [0]
    assert tokens(TransformersJs(1), [1.0, math.nan, 2.0]) == [2]
