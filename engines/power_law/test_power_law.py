"""power_law: logits by distance to a target that follows the history, by hand and against the
independent backend."""

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.power_law import worker as backend
from sampler_parity.engines.power_law.model import PRESETS, PowerLaw
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError
from tests.support.applied import SEED, applied, logs, side_by_side

EXAMPLE = {"target": 0.1, "distribution_width": 0.05, "tail_heaviness": 2.0, "queue_size": 10}


def _sampled(sampler: PowerLaw, logits: object) -> Candidates:
    cand = Candidates.from_logits(logits)  # type: ignore[arg-type]
    sampler.apply(cand)
    return cand


@pytest.mark.slow
def test_power_law_moves_logits_by_the_distance_in_widths() -> None:
    """.60 .25 .10 .05: 10, 3, 0 and 1 widths: 10/101, 10/10, 10/1, 10/2. The first uniform double
    of the seed is .135: the third."""
    cand = applied("power_law", {**EXAMPLE, "seed": SEED}, logs(0.6, 0.25, 0.1, 0.05))
    assert cand.logits == pytest.approx([10 / 101, 1.0, 10.0, 5.0], abs=1e-4)
    assert cand.token == 2


@pytest.mark.parametrize(
    ("peak", "heaviness"), [*itertools.product((1, 4, 10, 20), (0.5, 1, 3, 10))]
)
def test_power_law_never_gives_the_farther_token_more(peak: float, heaviness: float) -> None:
    """The documented example gives .25, three widths away, more than .05, one width away."""
    parameters = EXAMPLE | {"tail_heaviness": heaviness, "peak_logit_value": peak, "seed": 1}
    p = applied("power_law", parameters, logs(0.6, 0.25, 0.1, 0.05)).p
    assert p[1] <= p[3]


def test_power_law_target_is_the_base_before_there_is_a_history() -> None:
    assert PowerLaw(**EXAMPLE, seed=1, max_target=0.05).computed_target() == np.float32(0.1)


@pytest.mark.parametrize(
    ("history", "target"),
    [
        ([0.2], 1.0),  # .3 * 4 - .2 = 1.0
        ([0.2, 0.5], 0.5),  # 1.2 - .7
        ([0.2, 0.5, 0.4], 0.1),  # 1.2 - 1.1
        ([0.9, 0.2, 0.5, 0.4], 0.1),  # the oldest of a full queue is left out
        ([0.9, 0.9, 0.9], 0.0),  # 1.2 - 2.7 < 0
        ([0.0, 0.0], 1.0),  # 1.2 > 1
    ],
)
def test_power_law_target_makes_up_for_the_newest(history: list[float], target: float) -> None:
    sampler = PowerLaw(0.3, 0.1, 2.0, 4, seed=1)
    sampler.history = deque((np.float32(p) for p in history), maxlen=4)
    assert sampler.computed_target() == pytest.approx(target, abs=1e-6)


def test_power_law_with_a_queue_of_one_never_adapts() -> None:
    sampler = PowerLaw(0.3, 0.1, 2.0, 1, seed=1)
    sampler.history.append(np.float32(0.9))
    assert sampler.computed_target() == np.float32(0.3)


def test_power_law_remembers_the_original_probability_at_the_draw() -> None:
    sampler = PowerLaw(0.1, 0.05, 2.0, 10, seed=SEED)
    cand = _sampled(sampler, logs(0.6, 0.25, 0.1, 0.05))
    assert list(sampler.history) == pytest.approx([0.1])
    sampler.accept(0)
    assert cand.token == 2
    assert list(sampler.history) == pytest.approx([0.1])


@pytest.mark.parametrize("width", [0.0, 2.0**-23])
def test_power_law_without_a_width_takes_the_first_of_the_nearest(width: float) -> None:
    parameters = EXAMPLE | {"distribution_width": width, "seed": 1, "target": 0.25}
    cand = applied("power_law", parameters, [0.0, 0.0, 0.0, 0.0])
    assert cand.logits.tolist() == [10.0, -100.0, -100.0, -100.0]
    assert cand.p.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_power_law_revives_a_banned_token() -> None:
    cand = applied("power_law", {**EXAMPLE, "seed": 1}, [0.0, -np.inf])
    assert cand.logits == pytest.approx([10 / 325, 2.0], rel=1e-5)
    assert cand.p[1] > 0.8


def test_power_law_leaves_the_order_alone() -> None:
    cand = applied("power_law", {**EXAMPLE, "seed": 1}, [1.0, 3.0, 2.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert not cand.sorted


def test_power_law_clone_goes_on_alone_and_reset_starts_again() -> None:
    logits = logs(0.4, 0.3, 0.2, 0.1)
    sampler = PowerLaw(0.3, 0.1, 2.0, 4, seed=5)
    first = [_sampled(sampler, logits).token for _ in range(12)]
    twin = sampler.clone()
    following = [_sampled(sampler, logits).token for _ in range(12)]
    assert [_sampled(twin, logits).token for _ in range(12)] == following
    sampler.reset()
    assert [_sampled(sampler, logits).token for _ in range(12)] == first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target": 1.5}, r"target must be in 0\.\.1, got 1\.5"),
        ({"distribution_width": -0.1}, "distribution_width must not be negative"),
        ({"queue_size": 0}, r"queue_size must be in 1\.\."),
        ({"min_target": 0.5, "max_target": 0.4}, "min_target 0.5 must not exceed max_target 0.4"),
    ],
)
def test_power_law_refuses_parameters_out_of_range(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        build_chain([{"power_law": {**EXAMPLE, "seed": 1, **wrong}}])


def test_power_law_refuses_no_candidates() -> None:
    with pytest.raises(UndefinedInputError, match="no candidates"):
        _sampled(PowerLaw(**EXAMPLE, seed=1), [])


@pytest.mark.parametrize("preset", PRESETS)
def test_power_law_presets_are_parameters_of_power_law(preset: str) -> None:
    assert applied("power_law", {"seed": 1, **PRESETS[preset]}, [1.0, 2.0]).token in (0, 1)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "target": st.sampled_from([0.0, 0.05, 0.3, 1.0]),
            "distribution_width": st.sampled_from([0.0, 0.05, 0.2, 1.0]),
            "tail_heaviness": st.sampled_from([0.5, 1.0, 2.0, 3.0]),
            "queue_size": st.sampled_from([1, 2, 5, 20]),
            "seed": st.integers(0, 2**32 - 2),
            "peak_logit_value": st.sampled_from([5.0, 10.0]),
            "max_target": st.sampled_from([0.4, 1.0]),
        }
    ),
    st.sampled_from(sorted(FAMILIES)),
    st.sampled_from([1, 2, 20, 300]),
    st.integers(0, 2**31),
)
def test_power_law_backend_agrees(
    parameters: dict[str, object], family: str, n: int, seed: int
) -> None:
    """Values within a few units of float32's last place, because of powf; the same token."""
    spec = [{"power_law": parameters}]
    for want, got in side_by_side(backend.Worker(), spec, family, n, seed, steps=8):
        assert got.ids.tolist() == want.ids.tolist()
        np.testing.assert_allclose(got.logits, want.logits, rtol=5e-7, atol=1e-6)
        np.testing.assert_allclose(got.p, want.p, rtol=5e-7, atol=1e-6)
        assert got.selected == want.selected
