"""akunu/webgpu: noise against the model, tokens against akunu/gumbel, draws as exactly counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.akunu import webgpu
from sampler_parity.engines.akunu.model.distribution import gumbel_distribution
from sampler_parity.engines.akunu.model.gumbel_max import element_seed, gumbel, uniforms
from sampler_parity.engines.akunu.worker_faults import ROWS
from sampler_parity.engines.webgpu.device import Edit, Task
from tests.support.applied import side_by_side
from tests.support.case_tables import cases_of
from tests.support.webgpu import found

CASES = cases_of(__file__)
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


DEFAULTS = {
    "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "position": 0, "noise": "f16",
}  # fmt: skip
USUAL = {"temperature": 0.8, "top_k": 4, "top_p": 0.9, "min_p": 0.01, "repeat_penalty": 1.3}


def together(edit: Edit | None) -> list[int]:
    """Return the rows, of five with parameters of their own, whose result is not that of the row
    alone."""
    x = np.random.default_rng(1).normal(0, 2, (5, 200)).astype(np.float32)
    on, tasks = webgpu.device(edit), []
    for row in range(5):
        of = USUAL | {"seed_offset": row, "top_k": 3 + row, "position": 0, "noise": "f16"}
        instance = webgpu.Instance(of, on)
        for token in range(row, row + 3):
            instance.accept(token)
        tasks.append(replace(instance.task(200), row=row))
    rows = on.rows(x)
    rows.run("akunu_gumbel", tasks)
    different = []
    for row, task in enumerate(tasks):
        alone = webgpu.device().rows(x[row : row + 1])
        alone.run("akunu_gumbel", [replace(task, row=0)])
        one, other = alone.read(0), rows.read(row)
        if (one.logits.tobytes(), one.selected) != (other.logits.tobytes(), other.selected):
            different.append(row)
    return different


def test_a_row_is_the_same_beside_others(device: Any) -> None:
    assert together(None) == []


@pytest.mark.parametrize(("edit", "wrong"), CASES["between_rows"], ids=CASES["between_rows_ids"])
def test_a_fault_between_rows_shows_in_the_rows_that_have_it(
    device: Any, edit: list[str], wrong: list[int]
) -> None:
    assert together(Edit(*edit)) == wrong


def counts(edit: Edit | None, logits: NDArray[np.float32], temperature: float) -> NDArray[np.int_]:
    """Return how often each token is drawn, at 2,000 positions."""
    worker, of = webgpu.Worker(), {"seed_offset": 0, "temperature": temperature}
    worker.edit = edit
    instance = worker.build([{"akunu_gumbel": of | DEFAULTS}], logits.size, None)
    tokens = instance.draw(worker.candidates(logits), 2_000, None)
    return np.bincount(tokens, minlength=logits.size)


@pytest.mark.parametrize(("edit", "fits"), CASES["draws"], ids=CASES["draws_ids"])
def test_the_shader_draws_from_the_exact_distribution(
    device: Any, edit: list[str], fits: bool
) -> None:
    """At 1000 float16 has steps of 1/2, so the distribution is far from the softmax."""
    for logits, temperature in (([1000.0, 1000.0, 999.0], 1.0), ([0.3, -1.0, 0.0, 1.2], 0.7)):
        x = np.array(logits, np.float32)
        exact, n = gumbel_distribution(x, temperature), 2_000
        away = abs(counts(Edit(*edit) if edit else None, x, temperature) - n * exact)
        assert bool((away < 5 * np.sqrt(n * exact * (1 - exact))).all()) == fits


def test_the_edit_of_every_fault_fits() -> None:
    for row in ROWS:
        edit = Edit(row["file"], row["replace"], row["with"])
        assert replace(webgpu.SHADERS, edit=edit).text(edit.file)
