"""harness/statistics/coupled.py: draws from equal uniforms, and how much rounding explains."""

import numpy as np
import pytest

from sampler_parity.harness.statistics import coupled
from sampler_parity.maintenance.calibration import wrong
from sampler_parity.reference.random import Walk


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


def test_disagreement_of_two_distributions_is_what_equal_uniforms_show() -> None:
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
