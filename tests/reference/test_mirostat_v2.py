"""mirostat_v2: cut at the first surprise above mu, draw, and move mu."""

import numpy as np
import pytest

from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from tests.support.applied import SEED, applied, logs, stepped


def test_mirostat_v2_cuts_what_surprises_more_than_mu() -> None:
    """.6 .3 .1: .737, 1.737, 3.322 bits. mu = 2: two stay, with p = 2/3, 1/3."""
    cand = applied("mirostat_v2", {"seed": SEED, "tau": 1.0}, logs(0.1, 0.3, 0.6))
    assert cand.ids.tolist() == [2, 1]
    assert cand.p == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    assert cand.token == 2  # .135 < 2/3


def test_mirostat_v2_carries_mu_from_step_to_step() -> None:
    """tau 5, eta .1; surprises 1, 2 and 8 bits: mu 10, 10.4, 10.7, 10.4. Bug zoo 49."""
    sampler = MirostatV2(SEED)
    mus = [float(sampler.mu)]
    for n in (2, 4, 256):
        stepped(sampler, np.zeros(n))
        mus.append(float(sampler.mu))
    assert mus == pytest.approx([10, 10.4, 10.7, 10.4], abs=1e-5)


def test_mirostat_v2_measures_the_surprise_after_the_cut() -> None:
    """Two of .6 .3 .1 stay; the first of 2/3, 1/3 surprises by log2 1.5 = .58496 bits, not .737.
    mu = 2 - .5 * (.58496 - 1) = 2.20752."""
    sampler = MirostatV2(SEED, tau=1.0, eta=0.5)
    stepped(sampler, logs(0.6, 0.3, 0.1))
    assert sampler.mu == pytest.approx(2.20752, abs=1e-5)


def test_mirostat_v2_with_one_candidate_draws_nothing() -> None:
    sampler = MirostatV2(SEED)
    assert stepped(sampler, [1.0]).token == 0
    assert sampler.mu == pytest.approx(10.5)
    # .135477 of .1, .9 (sorted: .9, .1) is the .9; .835009 too; .968868 is the .1
    logits = logs(0.1, 0.9)
    assert [stepped(sampler, logits).token for _ in range(3)] == [1, 1, 0]


def test_mirostat_v2_keeps_mu_nan_until_reset() -> None:
    sampler = MirostatV2(SEED)
    assert len(stepped(sampler, [-np.inf] * 3)) == 3
    assert np.isnan(sampler.mu)
    stepped(sampler, [0.0, 0.0])
    assert np.isnan(sampler.mu)
    sampler.reset()
    assert sampler.mu == 10
