"""The simulations themselves: each must be able to fail."""

import numpy as np
import pytest

from sampler_parity.harness.statistics import tv
from sampler_parity.harness.statistics.plan import Budget, Errors, draws_for
from sampler_parity.maintenance.calibration import distribution_calibration as calibration
from sampler_parity.maintenance.calibration import peers, simulate, wrong

ERRORS = Budget(calibration.CELLS).each
LOGITS = np.random.default_rng(1).normal(0, 3, 32)


@pytest.mark.slow
def test_a_small_calibration_holds_all_its_claims() -> None:
    result = calibration.calibrate(seed=3, runs=20, null_runs=50)
    assert [claim.text for claim in result.claims if not claim.met] == []
    assert len(result.claims) == 15
    assert set(result.curves) >= {"frequencies, V = 32", "coupled draws, V = 128,256"}
    assert {row.fault for row in result.peers} >= {"none", *wrong.FAULTS}


@pytest.mark.slow
def test_a_null_that_is_wrong_makes_alarms() -> None:
    rng = np.random.default_rng(2)
    p = wrong.softmax(LOGITS)
    plan = (draws_for(0.005, p, ERRORS), 0.005, ERRORS)
    assert simulate.frequencies(rng, p, p, plan, 20).alarms == 0
    assert simulate.frequencies(rng, wrong.shifted(p, 0.01), p, plan, 20).alarms == 20


def test_a_claim_is_not_met_by_one_run_too_few() -> None:
    assert calibration._claim("t", 999, 1000, 0.999, 0).met
    assert not calibration._claim("t", 998, 1000, 0.999, 0).met
    assert calibration._claim("t", 0, 1000, None, 0.0).met
    assert not calibration._claim("t", 1, 1000, None, 0.0).met


@pytest.mark.parametrize("fault", list(wrong.FAULTS))
def test_each_fault_is_a_distribution_that_differs(fault: str) -> None:
    q = wrong.FAULTS[fault](LOGITS)
    assert q.sum() == pytest.approx(1)
    assert (q >= 0).all()
    assert 0 < tv.between(q, wrong.softmax(LOGITS)) < 0.02


@pytest.mark.slow
def test_biased_draw_is_the_power_of_the_uniform() -> None:
    u = np.random.default_rng(3).random(1_000_000) ** (1 + wrong.BIAS)
    p = wrong.softmax(np.array([0.0, 1.0, 2.0]))
    counts = np.bincount(np.searchsorted(np.cumsum(p)[:-1], u), minlength=3)
    distribution = wrong.biased_draw(np.array([0.0, 1.0, 2.0]))
    assert tv.p_value(counts, distribution) > 1e-3
    assert tv.p_value(counts, p) < 1e-3


def test_shifted_distribution_has_the_distance_asked_for() -> None:
    p = wrong.softmax(LOGITS)
    q = wrong.shifted(p, 0.004)
    assert tv.between(q, p) == pytest.approx(0.004)
    assert q.sum() == pytest.approx(1)


def test_runs_that_decided_draw_no_more() -> None:
    rng = np.random.default_rng(4)
    errors = Errors(alpha=1e-4, beta=1e-4)
    outcome = simulate.disagreements(rng, 0.9, 1e-6, (1000, 0.1, errors), 50)
    assert outcome.alarms == 50
    assert outcome.draws.max() < 1000


def rule(name: str) -> peers.PeerRule:
    return next(r for r in peers.rules(np.random.default_rng(5)) if r.name.startswith(name))


def passed(name: str, temperature: float) -> int:
    chosen = rule(name)
    q = wrong.softmax(chosen.logits / temperature)
    return peers.let_through(np.random.default_rng(6), chosen, q, 100)


@pytest.mark.parametrize("name", ["vLLM", "FlashInfer", "TensorRT-LLM", "candle"])
def test_every_rule_passes_a_right_sampler(name: str) -> None:
    assert passed(name, 1.0) >= 99


@pytest.mark.parametrize(
    ("name", "temperature", "lets_through"),
    [
        ("vLLM", 1.05, False),
        ("FlashInfer", 1.10, True),
        ("FlashInfer", 2.0, False),
        ("TensorRT-LLM", 1.10, True),
        ("TensorRT-LLM", 2.0, False),
        ("candle", 1.20, True),
        ("candle", 3.0, False),
    ],
    ids=lambda x: str(x),
)
def test_rules_let_through_what_their_margins_allow(
    name: str, temperature: float, lets_through: bool
) -> None:
    count = passed(name, temperature)
    assert count >= 90 if lets_through else count <= 10


def test_our_rule_is_stricter_on_the_same_logits() -> None:
    ours = peers.ours(rule("vLLM").logits, ERRORS)
    q = wrong.biased_draw(ours.logits)
    rng = np.random.default_rng(7)
    assert peers.let_through(rng, ours, q, 20) < peers.let_through(rng, rule("vLLM"), q, 20)
    assert peers.let_through(rng, ours, wrong.softmax(ours.logits), 20) == 20
