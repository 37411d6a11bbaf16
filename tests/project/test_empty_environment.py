"""From nothing to a report: a Python, the wheel, and no compiler. Needs a package index."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.wheel import build_wheel, outside

SECONDS = 60  # of processor time, for all of it: "under a minute"
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "cmake", "make", "ninja")
LEFT_OUT = """        if self.temp != 0:
            c.logits = [f32(x / self.temp) for x in c.logits]
"""
FILLED_IN = """        best = c.logits.index(max(c.logits))
        if self.temp > 0:
            c.logits = [f32(x / self.temp) for x in c.logits]
        else:
            c.logits = [x if i == best else float("-inf") for i, x in enumerate(c.logits)]
"""

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("wheel")
    yield build_wheel(folder)
    shutil.rmtree(folder)


def seconds() -> float:
    """Return the processor time of all ended child processes."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.mark.parametrize("python", ["python3.11", "python3.12", "python3.13", "python3.14"])
def test_a_stranger_has_a_report_within_a_minute(python: str, wheel: Path, tmp_path: Path) -> None:
    if (
        not shutil.which(python)
        or subprocess.run([python, "-c", ""], capture_output=True).returncode
    ):
        pytest.skip(f"{python} does not run here")
    start = seconds()
    venv = tmp_path / "venv"
    assert outside(python, "-m", "venv", venv, folder=tmp_path).returncode == 0
    path = str(venv / "bin")
    assert [name for name in COMPILERS if shutil.which(name, path=path)] == []

    def done(*command: str, status: int = 0) -> str:
        program = venv / "bin" / command[0]
        ended = outside(program, *command[1:], folder=tmp_path, PATH=path)
        assert ended.returncode == status, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    done("pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[report]")
    assert "sampler-parity adapter check -- python adapter.py" in done(
        "sampler-parity", "init", "--lang", "python"
    )
    done("sampler-parity", "adapter", "check", "--", "python", "adapter.py")
    run = ["sampler-parity", "run", "parity/temp", "-b", "mine=python adapter.py"]
    output = done(*run, "-o", "first", status=1)
    assert "diverge at temp" in output
    assert "0 crashed" in output
    assert "diverge at temp" in done("sampler-parity", "explain", "first")
    assert "report/parity.html" in done("sampler-parity", "report", "first")
    assert seconds() - start < SECONDS

    adapter = tmp_path / "adapter.py"
    text = adapter.read_text(encoding="utf-8")
    assert LEFT_OUT in text
    adapter.write_text(text.replace(LEFT_OUT, FILLED_IN), encoding="utf-8")
    assert "0 diverged" in done(*run, "-o", "second")
    lacking = done("sampler-parity", "run", "parity/temp", status=2)
    assert "needs the extra llama - pip install 'sampler-parity[llama]'" in lacking
