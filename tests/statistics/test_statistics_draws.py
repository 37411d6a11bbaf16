"""Coupled draws, the tail, independence."""

import numpy as np
import pytest
from scipy.stats import poisson

from sampler_parity.harness.statistics import coupled, independence, tail, wrong
from sampler_parity.harness.statistics.plan import Errors
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.walk import Walk


def walk(weights: np.ndarray) -> Walk:
    return Walk(np.arange(len(weights), dtype=np.int32), np.cumsum(weights))


@pytest.mark.parametrize("n", [2, 32, 20_000])
def test_weights_that_are_off_by_an_ulp_never_disagree_beyond_rounding(n: int) -> None:
    rng = np.random.default_rng(n)
    weights = np.exp(rng.normal(0, 2, n))
    off = weights * (1 + coupled.ULP * rng.choice([-1, 1], n))
    at = coupled.edges(walk(weights).p)
    u = rng.random(200_000)
    differ = walk(weights).tokens(u) != walk(off).tokens(u)
    assert coupled.explained(u[differ], at, 1.0).all()
    assert differ.mean() <= coupled.benign_rate(at, 1.0) + 1e-3


def test_weights_that_are_off_by_more_are_seen() -> None:
    rng = np.random.default_rng(5)
    weights = np.exp(rng.normal(0, 2, 20_000))
    tilted = weights * np.where(np.arange(20_000) < 10_000, 1 + 1e-4, 1 - 1e-4)
    at = coupled.edges(walk(weights).p)
    u = rng.random(10_000)
    differ = walk(weights).tokens(u) != walk(tilted).tokens(u)
    assert (~coupled.explained(u[differ], at, 1.0)).sum() > 10


def test_benign_rate_is_the_measure_near_boundaries() -> None:
    at = np.array([0.2, 0.5, 0.50001, 0.9])
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    ulps = 500.0
    near = (abs(u[:, None] - at) <= coupled.reach(at, ulps)).any(axis=1).mean()
    assert coupled.benign_rate(at, ulps) == pytest.approx(near, abs=4e-6)
    assert coupled.benign_rate(np.array([]), 1.0) == 0.0


def test_one_candidate_has_no_boundary() -> None:
    assert coupled.edges(np.array([1.0])).tolist() == []
    assert not coupled.explained(np.array([0.3]), np.array([]), 1.0).any()


def test_disagreement_of_two_laws_is_what_equal_uniforms_show() -> None:
    rng = np.random.default_rng(7)
    p, q = wrong.softmax(rng.normal(0, 1, 50)), wrong.softmax(rng.normal(0, 1, 50))
    u = rng.random(200_000)
    differ = (walk(p).tokens(u) != walk(q).tokens(u)).mean()
    assert wrong.disagreement(p, q) == pytest.approx(differ, abs=0.005)


def test_clopper_pearson_bounds_of_no_disagreement() -> None:
    # 1 - 0.05 ** (1 / 100): the rate at which 100 draws without one have probability 0.05
    assert coupled.upper(0, 100, 0.05) == pytest.approx(0.0295130, abs=1e-6)
    assert coupled.lower(0, 100, 0.05) == 0.0
    assert coupled.upper(100, 100, 0.05) == 1.0


def test_lost_tail_is_caught_by_its_total() -> None:
    n = tail.draws_for(2.0, 0.04, Errors(1e-8, 1e-4))
    assert tail.total_p_value(0, n, 0.04) < 1e-8
    assert tail.total_p_value(round(n * 0.04), n, 0.04) > 0.5


def test_uniforms_of_few_bits_are_caught_by_repeats() -> None:
    # 2**20 tokens share 4% of the mass: uniforms of 16 bits reach only 2,621 of them
    rng = np.random.default_rng(9)
    weights = np.append(0.96, np.full(2**20, 0.04 / 2**20))
    fine, coarse = rng.random(50_000), np.floor(rng.random(50_000) * 2**16) / 2**16
    p_values = []
    for u in (fine, coarse):
        drawn = walk(weights).tokens(u)
        drawn = drawn[drawn > 0]
        p_values.append(tail.repeats_p_value(tail.repeats(drawn), len(drawn), 2.0**-20))
    assert p_values[0] > 1e-3
    assert p_values[1] < 1e-30


def test_repeats_p_value_is_poissons() -> None:
    # 10 draws of 1000 tokens: 45 pairs, 0.045 repeats expected
    assert tail.repeats_p_value(2, 10, 1e-3) == pytest.approx(poisson.sf(1, 0.045))
    assert tail.repeats_p_value(0, 10, 1e-3) == 1.0


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_pairs_are_disjoint_and_a_lag_apart(lag: int) -> None:
    first, second = independence.pairs(np.arange(43), lag)
    assert (second - first == lag).all()
    used = np.concatenate([first, second])
    assert len(np.unique(used)) == len(used) == 43 // (2 * lag) * 2 * lag


P = np.full(16, 1 / 16)


@pytest.mark.parametrize(
    ("made", "lag"), [("frozen", 1), ("again every 64", 64), ("repeated", 1)], ids=lambda x: str(x)
)
def test_a_generator_that_repeats_is_caught_at_its_lag(made: str, lag: int) -> None:
    rng = np.random.default_rng(11)
    tokens = {
        "frozen": np.full(100_000, 3),
        "again every 64": np.tile(rng.integers(16, size=64), 2000),
        "repeated": wrong.repeating(rng, P, 1, 1_000_000)[0],
    }[made]
    matched, n = independence.matches(*independence.pairs(tokens, lag))
    assert independence.p_value(matched, n, independence.repeat_rate(P)) < 1e-9


def test_independent_draws_repeat_as_often_as_chance_has_it() -> None:
    rng = np.random.default_rng(12)
    tokens = wrong.drawn(rng, P, 500, 4096)
    for lag in (1, 7, 512):
        matched, n = independence.matches(*independence.pairs(tokens, lag))
        p_values = independence.p_value(matched, n, independence.repeat_rate(P))
        assert (p_values <= 0.05).mean() <= 0.08


def test_walk_draws_what_dist_draws() -> None:
    logits = np.random.default_rng(13).normal(0, 2, 100).astype(np.float32)
    weights = np.exp(logits.astype(np.float64) - logits.max())
    dist = Dist(5)
    want = []
    for _ in range(50):
        cand = Candidates.from_logits(logits)
        dist.apply(cand)
        want.append(cand.token)
    twin = Dist(5)
    u = np.array([twin.rng.uniform_double() for _ in range(50)])
    assert walk(weights).tokens(u).tolist() == want
