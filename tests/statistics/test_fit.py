import itertools

import numpy as np
import pytest
import scipy

from sampler_parity.harness.statistics import fit, sequential


def test_half_g_is_half_of_scipys_statistic() -> None:
    counts, p = np.array([10, 20, 5]), np.array([0.3, 0.5, 0.2])
    g = scipy.stats.power_divergence(counts, 35 * p, lambda_="log-likelihood").statistic
    assert fit.half_g(counts, p) == pytest.approx(g / 2)


def test_g_p_value_holds_where_expectations_are_tiny() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.9, 0.09, 0.009, 0.0009, 0.0001])
    counts = rng.multinomial(40, p, size=50_000)
    p_values = fit.g_p_value(counts, p)
    for level in (0.1, 0.01, 0.001):
        assert (p_values <= level).mean() <= level


def test_g_p_value_of_a_wrong_sampler_is_small() -> None:
    assert fit.g_p_value(np.array([700, 300]), np.array([0.5, 0.5])) < 1e-30
    assert fit.g_p_value(np.array([7]), np.array([1.0])) == 1.0


@pytest.mark.parametrize("x", [0, 3, 9, 14])
def test_exact_p_value_of_two_tokens_is_the_binomial_test(x: int) -> None:
    got = fit.exact_p_value(np.array([x, 20 - x]), np.array([0.3, 0.7]))
    assert got == pytest.approx(scipy.stats.binomtest(x, 20, 0.3).pvalue, rel=1e-6)


def test_exact_p_value_is_left_out_where_there_are_too_many_outcomes() -> None:
    assert fit.exact_p_value(np.full(32, 100), np.full(32, 1 / 32)) is None


def test_pooling_leaves_no_bin_that_expects_too_little() -> None:
    counts, expected = fit.pooled(np.array([90, 6, 3, 1]), np.array([0.9, 0.07, 0.02, 0.01]))
    assert counts.tolist() == [90, 10]  # the pool of 3 expected is put to the smallest other bin
    assert expected == pytest.approx([90.0, 10.0])


def test_scipy_p_values_are_those_of_the_pooled_bins() -> None:
    got = fit.scipy_p_values(np.array([95, 3, 2, 0]), np.array([0.9, 0.07, 0.02, 0.01]))
    want = scipy.stats.power_divergence([95, 5], [90.0, 10.0], lambda_="pearson").pvalue
    assert got["chi2"] == pytest.approx(want)
    assert fit.scipy_p_values(np.array([5]), np.array([1.0])) == {"g": 1.0, "chi2": 1.0}


def test_e_value_against_a_distribution_has_mean_one() -> None:
    p = np.array([0.2, 0.3, 0.5])
    mean = 0.0
    for draws in itertools.product(range(3), repeat=5):
        counts = np.bincount(draws, minlength=3)
        mean += p[list(draws)].prod() * float(np.exp(sequential.log_e_multinomial(counts, p)))
    assert mean == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.1])
def test_e_value_against_a_rate_has_a_mean_of_at_most_one(rate: float) -> None:
    x = np.arange(21)
    e = np.exp(sequential.log_e_bernoulli(x, 20, 0.1))
    mean = float((scipy.stats.binom.pmf(x, 20, rate) * e).sum())
    assert mean == pytest.approx(1.0) if rate == 0.1 else mean < 1


@pytest.mark.slow
def test_looking_after_every_draw_keeps_the_level() -> None:
    rng = np.random.default_rng(2)
    p = np.array([0.5, 0.3, 0.2])
    draws = rng.choice(3, size=(2000, 300), p=p)
    counts = np.cumsum(draws[..., None] == np.arange(3), axis=1)
    ever = sequential.p_value(sequential.log_e_multinomial(counts, p)).min(axis=1)
    assert (ever <= 0.05).mean() <= 0.05


def test_a_wrong_sampler_is_bet_against_with_growing_wealth() -> None:
    p = np.array([0.5, 0.3, 0.2])
    counts = np.array([[45, 35, 20], [450, 350, 200], [4500, 3500, 2000]])
    p_values = sequential.p_value(sequential.log_e_multinomial(counts, p))
    assert p_values[0] > p_values[1] > p_values[2]
    assert p_values[2] < 1e-10


def test_one_success_is_proof_where_none_is_possible() -> None:
    assert sequential.p_value(sequential.log_e_bernoulli(1, 5, 0.0)) == 0
    assert sequential.p_value(sequential.log_e_bernoulli(0, 5, 0.0)) == 1
