"""The shaders on a device, if there is one: widths around the lanes, rows together, exp and log."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.webgpu import device as module
from sampler_parity.engines.webgpu.browser import Browser
from sampler_parity.engines.webgpu.device import PARTS, Device, Edit, Shaders, Task
from sampler_parity.engines.webgpu.worker import Worker
from sampler_parity.engines.webgpu.worker_faults import FAULTS, ROWS
from sampler_parity.harness.backends import environments
from sampler_parity.harness.errors import InputError, Unsupported
from tests.support.applied import side_by_side
from tests.support.case_tables import cases_of
from tests.support.webgpu import found

USUAL: list[dict[str, dict[str, Any]]] = [
    {"top_k": {"k": 40}}, {"top_p": {"p": 0.95}}, {"temp": {"temp": 0.8}}, {"dist": {"seed": 1}},
]  # fmt: skip


@pytest.fixture(scope="module")
def device() -> Any:
    return found(lambda: Device(Shaders(PARTS)))


def logits(rows: int, n: int) -> NDArray[np.float32]:
    return np.random.default_rng(n).normal(0, 3, (rows, n)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 1000, 4097])
def test_the_usual_chain_selects_as_the_reference_does(device: Any, n: int) -> None:
    for want, place in side_by_side(Worker(), USUAL, "normal", n, seed=n):
        got = place.rows.read(place.row)
        assert got.ids.tolist() == want.ids.tolist()
        assert got.selected == want.selected


def test_a_row_is_the_same_beside_others(device: Any) -> None:
    together, x = device.rows(logits(5, 200)), logits(5, 200)
    for stage in ("top_k", "top_p", "dist"):
        together.run(stage, [Task(row, k=20 + row, a=0.9 - row / 10) for row in range(5)])
    for row in range(5):
        alone = device.rows(x[row : row + 1])
        for stage in ("top_k", "top_p", "dist"):
            alone.run(stage, [Task(0, k=20 + row, a=0.9 - row / 10)])
        one, many = alone.read(0), together.read(row)
        assert one.p.tobytes() == many.p.tobytes()
        assert (one.ids.tolist(), one.selected) == (many.ids.tolist(), many.selected)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("exp_of", -87.0, 88.0), ("log_of", 1e-38, 1.0), ("log_of", 1, 1e38),
        ("log_of", 1e-45, 1.1e-38),
    ],
)  # fmt: skip
def test_exp_and_log_are_within_two_ulps(
    device: Any, tmp_path: Path, name: str, low: float, high: float
) -> None:
    (tmp_path / "function.wgsl").write_text(cases_of(__file__)["shader"].replace("NAME", name))
    x = np.random.default_rng(1).uniform(low, high, 2**17).astype(np.float32)
    rows = Device(Shaders({"function": []}, tmp_path)).rows(x[None])
    rows.run("function", [Task(0)])
    exact = {"exp_of": np.exp, "log_of": np.log}[name](x.astype(np.float64))
    away = abs(rows.read(0).p - exact) / np.spacing(abs(exact).astype(np.float32))
    assert away.max() <= 2


def test_a_nan_is_refused_where_an_order_is_needed(device: Any) -> None:
    rows = device.rows(np.array([[1, np.nan, 2, 3]], np.float32))
    rows.run("top_k", [Task(0, k=2)])
    assert rows.states["refused"].tolist() == [1]


def test_a_sum_that_rounding_keeps_below_its_total_selects_no_masked_token(device: Any) -> None:
    """float32 rounds the largest uniform number to 1, and the lanes' sums may fall short of it."""
    x = logits(8, 1000)
    x[:, -3:] = -np.inf
    rows = device.rows(x)
    rows.run("dist", [Task(row, a=1 + row / 4) for row in range(8)])
    assert (rows.states["selected"] <= 996).all()


def test_without_wgpu_or_an_adapter_the_reason_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "adapters", lambda wgpu: [])
    with pytest.raises(Unsupported, match=r"^wgpu finds no adapter; .* mesa-vulkan-drivers$"):
        module.first_adapter(None)

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(Unsupported, match=r"^wgpu is not installed: sampler-parity engines add"):
        Device(Shaders(PARTS))


@pytest.mark.skipif(sys.platform != "linux", reason="only Vulkan can be hidden by a variable")
@pytest.mark.parametrize(
    ("backend", "suite"), [("webgpu", "parity/greedy"), ("akunu/webgpu", "akunu/akunu_gumbel")]
)
def test_a_run_without_a_driver_ends_with_one_line_and_exit_status_2(
    backend: str, suite: str, tmp_path: Path
) -> None:
    if environments.missing("webgpu"):
        pytest.skip("sampler-parity engines add webgpu")
    command = [sys.executable, "-m", "sampler_parity.harness.cli", "run", suite, "-b", backend]
    nowhere = dict.fromkeys(("VK_ICD_FILENAMES", "VK_DRIVER_FILES"), str(tmp_path / "none"))
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "bundle")],
        env=os.environ | nowhere, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    reason = "wgpu finds no adapter; without a GPU install mesa-vulkan-drivers"
    line = f"sampler-parity: backend {backend}: does not run here: {reason}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_the_edit_of_every_fault_fits() -> None:
    assert len(ROWS) >= 15
    for row in ROWS:
        edit = Edit(row["file"], row["replace"], row["with"])
        shaders = Shaders(PARTS, edit=edit)
        assert shaders.text(edit.file) != Shaders(PARTS).text(edit.file)
    with pytest.raises(InputError, match=r"temp.wgsl: stands 0 times, and must once: 'nothing'"):
        Shaders(PARTS, edit=Edit("temp", "nothing", "")).text("temp")


def test_a_planted_fault_shows(device: Any) -> None:
    (fault,) = (each for each in FAULTS if each.name == "webgpu/tail-ignored")
    (right, wrong) = (worker.on.rows(logits(1, 65)) for worker in (Worker(), fault.worker()))
    for rows in (right, wrong):
        rows.run("temp", [Task(0, a=0.5)])
    changed = np.flatnonzero(right.read(0).logits != wrong.read(0).logits)
    assert changed.tolist() == [64]


def test_a_browser_computes_the_same(device: Any) -> None:
    browser = found(lambda: Browser(Shaders(PARTS)))
    there, here = (on.rows(logits(2, 300)) for on in (browser, device))
    for stage in ("top_k", "top_p", "dist"):
        for rows in (there, here):
            rows.run(stage, [Task(row, k=40, a=0.9) for row in range(2)])
        for row in range(2):
            one, other = there.read(row), here.read(row)
            assert (one.ids.tolist(), one.selected) == (other.ids.tolist(), other.selected)
            assert one.p == pytest.approx(other.p, rel=2.0**-20)


@pytest.mark.slow
def test_a_browser_refuses_a_branch_that_lanes_may_take_apart() -> None:
    """Chromium's compiler proves that all lanes reach a barrier; that of wgpu does not."""
    edit = Edit("dist", "agreed(row.n < 2u)", "row.n < 2u")
    rows = found(lambda: Browser(Shaders(PARTS, edit=edit))).rows(logits(1, 8))
    with pytest.raises(Unsupported, match=re.escape("must only be called from uniform")):
        rows.run("dist", [Task(0, a=0.5)])


def test_subnormal_logits_are_compared_where_a_device_takes_them_for_0(device: Any) -> None:
    """SwiftShader does so in each comparison of floats, and keeps bits that are moved."""
    x = np.array([[-1, 0, 1.2e-39, 1.1e-39], [-1.2e-39, -1.3e-39, -1, -2]], np.float32)
    browser = found(lambda: Browser(Shaders(PARTS)))
    for on in (browser, device):
        rows = on.rows(x)
        rows.run("greedy", [Task(0), Task(1)])
        assert rows.states["selected"].tolist() == [2, 0]
        rows.run("top_k", [Task(0, k=2), Task(1, k=2)])
        assert [rows.read(row).ids.tolist() for row in (0, 1)] == [[2, 3], [0, 1]]
        rows.run("temp", [Task(0), Task(1)])
        assert rows.read(0).logits.tolist() == [x[0, 2], -np.inf]


@pytest.mark.nightly
def test_a_browser_compiles_every_shader() -> None:
    browser = found(lambda: Browser(Shaders(PARTS)))
    for stage in PARTS:
        browser.rows(logits(1, 100)).run(stage, [Task(0, k=10, a=0.5, b=0.1)])
