"""`make profile` samples every process of a run, and counts a busy function to its package."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.profile_run import report

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_each_process_of_a_run_is_sampled(tmp_path: Path) -> None:
    run = ["run", "parity/dry", "-b", "llama.cpp", "-j", "1", "-o", str(tmp_path / "bundle")]
    command = [sys.executable, "-m", "scripts.profile_run", *run]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tables = done.stdout.split("\n\n")
    processes = next(table for table in tables if table.startswith("process"))
    assert {line.split()[-1] for line in processes.splitlines()[1:]} == {
        "command",
        "judge",
        "backend",
    }
    assert "backend  harness/" in done.stdout
    assert "judge    harness/run/judging.py:run_portion" in done.stdout


@pytest.mark.slow
def test_the_exit_status_is_that_of_the_command() -> None:
    command = [sys.executable, "-m", "scripts.profile_run", "run", "no-such-suite", "-b", "null"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2


def test_shares_are_of_all_samples() -> None:
    reference = "reference/chain.py:Chain.apply"
    samples = [
        ["judge", "numpy:take", "harness/run/judging.py:run_portion", reference],
        ["judge", reference, "harness/run/judging.py:run_portion", reference],
        ["judge", "json:dumps", "harness/run/judging.py:run_portion"],
        ["command", "python <frozen importlib:load"],
    ]
    text = "\n".join(report(samples, 8.0))
    assert "4.00 s  50.0%  judge    reference\n" in text
    assert "2.00 s  25.0%  judge    harness/run\n" in text
    assert "2.00 s  25.0%  command  none: imports, end\n" in text
    assert "6.00 s  75.0%  judge    harness/run/judging.py:run_portion\n" in text
    assert "2.00 s  25.0%  numpy\n" in text
