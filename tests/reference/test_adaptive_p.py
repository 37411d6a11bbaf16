"""adaptive_p: favour tokens whose probability is near a target that follows the history.

The first three uniform doubles of the seed are .135477, .835009 and .968868.
"""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from tests.support.applied import SEED, applied, logs


def _stepped(sampler: AdaptiveP, logits: object) -> Candidates:
    cand = Candidates.from_logits(logits)  # type: ignore[arg-type]
    sampler.apply(cand)
    return cand


def test_adaptive_p_moves_logits_by_the_distance_to_the_target() -> None:
    """p = .8 .2, target .5: distance .3 / .3 = 1 on both sides: 5 - 10 * 1 / 2 = 0."""
    cand = applied("adaptive_p", {"target": 0.5, "seed": SEED}, logs(0.8, 0.2))
    assert cand.logits == pytest.approx([0.0, 0.0], abs=1e-5)
    assert cand.p == pytest.approx([0.5, 0.5], abs=1e-5)
    assert cand.token == 0


def test_adaptive_p_gives_the_peak_at_the_target() -> None:
    """p = .5 .35 .15: distances 0, .5, 7/6: 5; 5 - 2.5/1.5 = 10/3; 5 - 13.6111/2.16667 = -1.282."""
    cand = applied("adaptive_p", {"target": 0.5, "seed": SEED}, logs(0.5, 0.35, 0.15))
    assert cand.logits == pytest.approx([5.0, 10 / 3, -1.28205], abs=1e-4)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (1.0, [4.16667, -17.5]),  # target' 1: distances 1/3, 3: 5 - 1.1111 / 1.3333, 5 - 90 / 4
        (0.0, [-17.5, 4.16667]),  # target' 0: distances 3 and 1/3
        (5.0, [-17.5, 4.16667]),  # 2 * 1 - 5 = -3 is clamped to 0
    ],
)
def test_adaptive_p_clamps_the_target(target: float, expected: list[float]) -> None:
    """p = .9 .1. Without a history target' = 2 * clamp(target) - target."""
    cand = applied("adaptive_p", {"target": target, "seed": SEED}, logs(0.9, 0.1))
    assert cand.logits == pytest.approx(expected, abs=1e-4)


def test_adaptive_p_follows_the_original_probability_of_accepted_tokens() -> None:
    """decay .9: sums 5 and 10. p = .8 accepted: .8 + 4.5 = 5.3 and 1 + 9 = 10; the next target is
    1 - .53 = .47. Bug zoo 50: the transformed p, .5, would leave 5 and .5."""
    sampler = AdaptiveP(0.5, SEED)
    cand = _stepped(sampler, logs(0.8, 0.2))
    assert cand.token == 0
    sampler.accept(0)
    assert sampler.weighted_sum == pytest.approx(5.3, abs=1e-5)
    assert sampler.total_weight == pytest.approx(10, abs=1e-5)
    cand = _stepped(sampler, logs(0.47, 0.53))
    assert cand.logits == pytest.approx([5.0, 5 - 10 * 0.04 / 1.2], abs=1e-4)


def test_adaptive_p_with_decay_zero_remembers_one_token() -> None:
    """Sums .5 and 1; p = .8: .8 and 1: target' = 1 - .8 = .2; p = .2 next: target' = .8."""
    sampler = AdaptiveP(0.5, SEED, decay=0.0)
    for p, accepted in ((0.8, 0), (0.8, 0)):
        assert _stepped(sampler, logs(p, 1 - p)).token in (0, 1)
        sampler.pending_token, sampler.pending_index = accepted, accepted
        sampler.accept(accepted)
        assert sampler.weighted_sum == pytest.approx(p, abs=1e-6)
        assert sampler.total_weight == 1


@pytest.mark.parametrize(
    ("decay", "weight"), [(-1.0, 1.0), (0.0, 1.0), (0.99, 100.0), (5.0, 100.0)]
)
def test_adaptive_p_clamps_the_decay(decay: float, weight: float) -> None:
    assert AdaptiveP(0.5, 1, decay).total_weight == pytest.approx(weight, rel=1e-5)


def test_adaptive_p_forgets_the_draw_if_another_token_is_accepted() -> None:
    sampler = AdaptiveP(0.5, SEED)
    token = _stepped(sampler, logs(0.8, 0.2)).token
    sampler.accept(1)
    sampler.accept(0)
    assert token == 0
    assert sampler.weighted_sum == pytest.approx(5.0)


def test_adaptive_p_below_zero_only_draws() -> None:
    """p = .1 .9 is drawn from as it stands: .135 is id 1; nothing is recorded."""
    sampler = AdaptiveP(-1.0, SEED)
    cand = _stepped(sampler, logs(0.1, 0.9))
    assert cand.p == pytest.approx([0.1, 0.9], abs=1e-6)
    assert cand.token == 1
    before = sampler.weighted_sum
    sampler.accept(1)
    assert sampler.weighted_sum == before


def test_adaptive_p_never_revives_the_banned() -> None:
    """p = .5, 0, .5 and target 0: the banned token would be nearest."""
    sampler = AdaptiveP(0.0, SEED)
    for _ in range(50):
        cand = _stepped(sampler, [0.0, -np.inf, 0.0])
        assert cand.logits[1] == -np.inf
        assert cand.p[1] == 0
        assert cand.token in (0, 2)


def test_adaptive_p_keeps_the_order_and_sorts_nothing() -> None:
    cand = applied("adaptive_p", {"target": 0.5, "seed": SEED}, [0.0, 3.0, 1.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert not cand.sorted


def test_adaptive_p_with_one_candidate_draws_nothing() -> None:
    sampler = AdaptiveP(0.5, SEED)
    assert _stepped(sampler, [2.0]).token == 0
    # target' = .5 lies between both p: they become equal, and .135 is the first
    assert _stepped(sampler, logs(0.4, 0.6)).token == 0


def test_adaptive_p_ends_where_the_search_ends_if_all_are_banned() -> None:
    """Every p is NaN, no step is below the number: the binary search ends at the first."""
    assert applied("adaptive_p", {"target": 0.5, "seed": SEED}, [-np.inf] * 3).token == 0


def test_adaptive_p_starts_over_on_reset() -> None:
    """Bug zoo 52."""
    sampler = AdaptiveP(0.3, SEED)
    fresh = AdaptiveP(0.3, SEED)
    for _ in range(5):
        sampler.accept(_stepped(sampler, logs(0.5, 0.3, 0.2)).token or 0)
    sampler.reset()
    for _ in range(10):
        a, b = (_stepped(each, logs(0.5, 0.3, 0.2)) for each in (sampler, fresh))
        assert (a.token, a.logits.tolist()) == (b.token, b.logits.tolist())
        sampler.accept(a.token or 0)
        fresh.accept(b.token or 0)


def test_adaptive_p_clone_keeps_the_average_and_restarts_the_stream() -> None:
    sampler = AdaptiveP(0.5, SEED)
    sampler.accept(_stepped(sampler, logs(0.8, 0.2)).token or 0)
    twin = sampler.clone()
    assert twin.weighted_sum == sampler.weighted_sum
    # target' .47: p = .57 .37 are equally far; .835 goes on, .135 starts anew
    logits = logs(0.57, 0.37)
    assert [_stepped(sampler, logits).token, _stepped(twin, logits).token] == [1, 0]


def test_adaptive_p_refuses_what_a_clone_cannot_record() -> None:
    sampler = AdaptiveP(0.5, SEED)
    token = _stepped(sampler, [0.0, 0.0]).token
    message = "^adaptive_p was cloned between apply and accept, or accepts token -1 with nothing"
    with pytest.raises(UndefinedInputError, match=message):
        sampler.clone().accept(token or 0)
    with pytest.raises(UndefinedInputError, match=message):
        AdaptiveP(0.5, SEED).accept(-1)


def test_adaptive_p_refuses_no_candidates() -> None:
    with pytest.raises(UndefinedInputError, match=r"^softmax of no candidates"):
        applied("adaptive_p", {"target": 0.5, "seed": SEED}, [])
