import itertools
import math

import numpy as np
import pytest

from sampler_parity.harness.statistics import plan, tv
from sampler_parity.harness.statistics.plan import Budget, Errors
from sampler_parity.harness.statistics.tv import by_rank, by_token

ERRORS = Errors(alpha=1e-8, beta=1e-4)


def test_distance_is_half_the_absolute_differences() -> None:
    # |2/4 - 1/4| + |1/4 - 1/4| + |1/4 - 1/2| = 1/2, half of it 1/4
    assert tv.distance(np.array([2, 1, 1]), np.array([0.25, 0.25, 0.5])) == 0.25


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.1, 0.2, 0.7], [0.999, 0.001]], ids=str)
def test_expected_distance_is_the_mean_over_all_outcomes(p: list[float]) -> None:
    n, distribution = 6, np.array(p)
    mean = sum(
        math.prod(distribution[list(draws)])
        * float(tv.distance(np.bincount(draws, minlength=len(p)), distribution))
        for draws in itertools.product(range(len(p)), repeat=n)
    )
    assert tv.expected(n, distribution) == pytest.approx(mean, rel=1e-12)


def test_bounds_are_wrong_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
    for q in (p, np.array([0.38, 0.3, 0.2, 0.06, 0.06]), np.array([0.1, 0.2, 0.3, 0.2, 0.2])):
        counts = rng.multinomial(300, q, size=5000)
        true = tv.between(q, p)
        assert (tv.upper(counts, p, 0.05) < true).mean() <= 0.05
        assert (tv.lower(counts, p, 0.05) > true).mean() <= 0.05


def test_lower_bound_is_above_zero_for_one_token_too_often() -> None:
    p = np.full(1000, 1e-3)
    counts = np.full(1000, 100)
    counts[3] = 600  # 500 draws of 100,500 too many, of one token: TV at least about 0.004
    low = tv.lower(counts, p, 1e-9)
    assert 0.003 < low < tv.distance(counts, p)


def test_p_value_of_a_right_sampler_is_no_smaller_than_its_level() -> None:
    rng = np.random.default_rng(2)
    p = np.array([0.5, 0.3, 0.2])
    p_values = tv.p_value(rng.multinomial(50, p, size=20_000), p)
    for level in (0.5, 0.1, 0.01):
        assert (p_values <= level).mean() <= level


def test_planned_draws_are_the_fewest_that_suffice() -> None:
    p = np.full(32, 1 / 32)
    n = plan.draws_for(0.005, p, ERRORS)
    assert plan.smallest_caught(n, p, ERRORS) <= 0.005 < plan.smallest_caught(n - 1, p, ERRORS)


def test_planned_draws_decide_both_ways_with_the_stated_error() -> None:
    rng = np.random.default_rng(3)
    errors = Errors(alpha=0.01, beta=0.05)
    p, margin = np.array([0.5, 0.25, 0.125, 0.125]), 0.05
    n = plan.draws_for(margin, p, errors)
    q = p + margin * np.array([1.0, -1.0, 0.0, 0.0])
    right, wrong = rng.multinomial(n, p, size=2000), rng.multinomial(n, q, size=2000)
    assert (tv.upper(right, p, errors.alpha / plan.LOOKS) >= margin).mean() <= errors.beta
    assert (tv.p_value(wrong, p) > errors.alpha).mean() <= errors.beta


def test_budget_is_split_evenly_over_tests_and_their_three_statements() -> None:
    assert Budget(tests=10, total=3e-6).each.alpha == pytest.approx(1e-7)


def test_looks_double_up_to_the_plan() -> None:
    assert plan.looks(6400) == [100, 200, 400, 800, 1600, 3200, 6400]
    assert plan.looks(3) == [1, 3]


def test_coupled_draws_catch_the_margin_and_no_plan_exists_below_rounding() -> None:
    n = plan.coupled_draws(0.01, 1e-6, ERRORS)
    assert n is not None
    assert plan.coupled_caught(n, 1e-6, ERRORS) <= 0.01
    assert plan.coupled_draws(0.01, 0.02, ERRORS) is None


def test_bins_by_token_leave_out_what_is_impossible() -> None:
    bins = by_token(np.array([0.5, 0.0, 0.5]))
    tokens = np.array([0, 2, 1, 2], np.int32)
    assert bins.counts(tokens).tolist() == [1, 2]
    assert bins.impossible(tokens).tolist() == [1]


def test_bins_by_rank_hold_neighbours_in_probability() -> None:
    p = np.array([0.05, 0.4, 0.05, 0.0, 0.25, 0.25])
    bins = by_rank(p, 4)
    # ranks: 0.4 | 0.25 (from 0.4) | 0.25 (from 0.65) | 0.05, 0.05 (from 0.9)
    assert bins.of_token.tolist() == [3, 0, 3, -1, 1, 2]
    assert bins.p == pytest.approx([0.4, 0.25, 0.25, 0.1])


def test_holm_multiplies_by_the_hypotheses_that_are_left() -> None:
    # 4 x 0.01, 3 x 0.02, 2 x 0.03, 1 x 0.9
    assert plan.holm(np.array([0.03, 0.01, 0.9, 0.02])) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    # 3 x 0.01; 2 x 0.012 and 1 x 0.013 are not below it
    assert plan.holm(np.array([0.01, 0.012, 0.013])) == pytest.approx([0.03, 0.03, 0.03])
    assert plan.holm(np.array([])).tolist() == []
