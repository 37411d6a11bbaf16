"""power_law: logits by distance to a target that follows the history, by hand and against the
independent backend."""

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.power_law import worker as backend
from sampler_parity.engines.power_law.model import PowerLaw
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates
from tests.support.applied import SEED, applied, logs, side_by_side
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

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


def test_power_law_leaves_the_order_alone() -> None:
    cand = applied("power_law", {**EXAMPLE, "seed": 1}, [1.0, 3.0, 2.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert not cand.sorted


@pytest.mark.parametrize(
    ("peak", "heaviness"), [*itertools.product((1, 4, 10, 20), (0.5, 1, 3, 10))]
)
def test_power_law_never_gives_the_farther_token_more(peak: float, heaviness: float) -> None:
    """The documented example gives .25, three widths away, more than .05, one width away."""
    parameters = EXAMPLE | {"tail_heaviness": heaviness, "peak_logit_value": peak, "seed": 1}
    p = applied("power_law", parameters, logs(0.6, 0.25, 0.1, 0.05)).p
    assert p[1] <= p[3]


@pytest.mark.parametrize(("history", "target"), CASES["targets"])
def test_power_law_target_makes_up_for_the_newest(history: list[float], target: float) -> None:
    sampler = PowerLaw(0.3, 0.1, 2.0, 4, seed=1)
    sampler.history = deque((np.float32(p) for p in history), maxlen=4)
    assert sampler.computed_target() == pytest.approx(target, abs=1e-6)


def test_power_law_remembers_the_original_probability_at_the_draw() -> None:
    sampler = PowerLaw(0.1, 0.05, 2.0, 10, seed=SEED)
    cand = _sampled(sampler, logs(0.6, 0.25, 0.1, 0.05))
    assert list(sampler.history) == pytest.approx([0.1])
    sampler.accept(0)
    assert cand.token == 2
    assert list(sampler.history) == pytest.approx([0.1])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in CASES["sampled"].items()}
        | {"seed": st.integers(0, 2**32 - 2)}
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
