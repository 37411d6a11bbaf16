"""adaptive_p: favour tokens whose probability is near a target that follows the history.

The first three uniform doubles of the seed are .135477, .835009 and .968868.
"""

import pytest

from sampler_parity.reference import UndefinedInputError
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from tests.support.applied import SEED, applied, logs, stepped


def test_adaptive_p_moves_logits_by_the_distance_to_the_target() -> None:
    """p = .8 .2, target .5: distance .3 / .3 = 1 on both sides: 5 - 10 * 1 / 2 = 0."""
    cand = applied("adaptive_p", {"target": 0.5, "seed": SEED}, logs(0.8, 0.2))
    assert cand.logits == pytest.approx([0.0, 0.0], abs=1e-5)
    assert cand.p == pytest.approx([0.5, 0.5], abs=1e-5)
    assert cand.token == 0


def test_adaptive_p_follows_the_original_probability_of_accepted_tokens() -> None:
    """decay .9: sums 5 and 10. p = .8 accepted: .8 + 4.5 = 5.3 and 1 + 9 = 10; the next target is
    1 - .53 = .47. Bug zoo 50: the transformed p, .5, would leave 5 and .5."""
    sampler = AdaptiveP(0.5, SEED)
    cand = stepped(sampler, logs(0.8, 0.2))
    assert cand.token == 0
    sampler.accept(0)
    assert sampler.weighted_sum == pytest.approx(5.3, abs=1e-5)
    assert sampler.total_weight == pytest.approx(10, abs=1e-5)
    cand = stepped(sampler, logs(0.47, 0.53))
    assert cand.logits == pytest.approx([5.0, 5 - 10 * 0.04 / 1.2], abs=1e-4)


def test_adaptive_p_forgets_the_draw_if_another_token_is_accepted() -> None:
    sampler = AdaptiveP(0.5, SEED)
    token = stepped(sampler, logs(0.8, 0.2)).token
    sampler.accept(1)
    sampler.accept(0)
    assert token == 0
    assert sampler.weighted_sum == pytest.approx(5.0)


def test_adaptive_p_with_one_candidate_draws_nothing() -> None:
    sampler = AdaptiveP(0.5, SEED)
    assert stepped(sampler, [2.0]).token == 0
    # target' = .5 lies between both p: they become equal, and .135 is the first
    assert stepped(sampler, logs(0.4, 0.6)).token == 0


def test_adaptive_p_clone_keeps_the_average_and_restarts_the_stream() -> None:
    sampler = AdaptiveP(0.5, SEED)
    sampler.accept(stepped(sampler, logs(0.8, 0.2)).token or 0)
    twin = sampler.clone()
    assert twin.weighted_sum == sampler.weighted_sum
    # target' .47: p = .57 .37 are equally far; .835 goes on, .135 starts anew
    logits = logs(0.57, 0.37)
    assert [stepped(sampler, logits).token, stepped(twin, logits).token] == [1, 0]


def test_adaptive_p_refuses_what_a_clone_cannot_record() -> None:
    sampler = AdaptiveP(0.5, SEED)
    token = stepped(sampler, [0.0, 0.0]).token
    message = "^adaptive_p was cloned between apply and accept, or accepts token -1 with nothing"
    with pytest.raises(UndefinedInputError, match=message):
        sampler.clone().accept(token or 0)
    with pytest.raises(UndefinedInputError, match=message):
        AdaptiveP(0.5, SEED).accept(-1)
