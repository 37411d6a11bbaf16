"""akunu/webgpu: the shader's noise against the model, and its tokens against akunu/gumbel."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.akunu import webgpu
from sampler_parity.engines.akunu.model.gumbel_max import element_seed, gumbel, uniforms
from sampler_parity.engines.webgpu.device import Task
from tests.support.applied import side_by_side
from tests.support.webgpu import found

N = 2**18


@pytest.fixture(scope="module")
def device() -> Any:
    return found(webgpu.device)


def test_a_million_uniforms_are_equal_and_the_noise_within_four_ulps(device: Any) -> None:
    """A logarithm within 2 ULP of one within 1 ULP: 3 for the inner one, whose relative error the
    outer one adds to its own 3 absolutely. ULPs are those of max(1, |noise|), 2**-23 at most."""
    states = [element_seed(position, 12345) for position in (0, 1, 2, 2**32 - 1)]
    rows = device.rows(np.zeros((len(states), N), np.float32))
    rows.run("noise", [Task(row, least=state) for row, state in enumerate(states)])
    for row, state in enumerate(states):
        got, u = rows.read(row), uniforms(state, N)
        assert got.p.tobytes() == u.tobytes()
        noise = gumbel(u).astype(np.float64)
        assert (abs(got.logits - noise) <= 4 * 2.0**-23 * np.maximum(1, abs(noise))).all()


@pytest.mark.parametrize("noise", ["f16", "f32"])
@pytest.mark.parametrize("family", ["normal", "ties", "masked", "flat"])
def test_the_shader_selects_as_the_model_does(device: Any, family: str, noise: str) -> None:
    usual = {"top_k": 40, "top_p": 0.95, "min_p": 0.05, "temperature": 0.8, "repeat_penalty": 1.1}
    for seed, n in enumerate([1, 3, 63, 64, 65, 600]):
        spec = [{"akunu_gumbel": usual | {"seed_offset": seed, "noise": noise}}]
        for want, got in side_by_side(webgpu.Worker(), spec, family, n, seed, [0, 1, 1]):
            assert got.selected == want.selected
            rel = 1e-3 if noise == "f16" else 0  # half a float16, or an ULP of the noise
            assert got.logits == pytest.approx(want.logits, rel=rel, abs=4 * 2.0**-23)
