"""harness/statistics/tail.py: the mass below the largest probabilities."""

import numpy as np
import pytest
import scipy

from sampler_parity.harness.statistics import tail
from sampler_parity.harness.statistics.plan import Errors
from sampler_parity.reference.random import Walk


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
        drawn = Walk(np.arange(len(weights), dtype=np.int32), np.cumsum(weights)).tokens(u)
        drawn = drawn[drawn > 0]
        p_values.append(tail.repeats_p_value(tail.repeats(drawn), len(drawn), 2.0**-20))
    assert p_values[0] > 1e-3
    assert p_values[1] < 1e-30


def test_repeats_p_value_is_poissons() -> None:
    # 10 draws of 1000 tokens: 45 pairs, 0.045 repeats expected
    assert tail.repeats_p_value(2, 10, 1e-3) == pytest.approx(scipy.stats.poisson.sf(1, 0.045))
    assert tail.repeats_p_value(0, 10, 1e-3) == 1.0
