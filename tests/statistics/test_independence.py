"""harness/statistics/independence.py: draws a lag apart."""

import numpy as np
import pytest

from sampler_parity.harness.statistics import independence
from sampler_parity.maintenance.calibration import wrong


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_pairs_are_disjoint_and_a_lag_apart(lag: int) -> None:
    first, second = independence.pairs(np.arange(43), lag)
    assert (second - first == lag).all()
    used = np.concatenate([first, second])
    assert len(np.unique(used)) == len(used) == 43 // (2 * lag) * 2 * lag


P = np.full(16, 1 / 16)


@pytest.mark.slow
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
