"""harness/timing/benchmarks: timing suites under pytest-benchmark, with its options and JSON."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXPRESSION = "samplers-min_p and V4096 and (null or reference)"


def timed(out: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return the benchmarks by backend."""
    names = ("--pyargs", "sampler_parity.harness.timing.benchmarks", "-p", "no:xdist")
    command = [sys.executable, "-m", "pytest", *names, "--benchmark-only", *options]
    alone = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [*command, f"--benchmark-json={out}"],
        capture_output=True,
        text=True,
        check=False,
        env=alone,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {b["params"]["backend"]: b for b in json.loads(out.read_text())["benchmarks"]}


@pytest.mark.slow
def test_pytest_benchmark_times_the_suites_and_writes_its_json(tmp_path: Path) -> None:
    benchmarks = timed(tmp_path / "out.json", "-k", EXPRESSION)
    assert set(benchmarks) == {"null", "reference"}
    assert {b["group"] for b in benchmarks.values()} == {"min_p/V4096"}
    assert {b["stats"]["rounds"] for b in benchmarks.values()} == {5}
    assert benchmarks["reference"]["stats"]["min"] > benchmarks["null"]["stats"]["min"]


ADAPTER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"ok": True, "id": asked["id"]} if "id" in asked else {"ok": True}
    if asked["do"] == "hello":
        reply |= {"name": "mine", "version": "1", "build": "", "device": "cpu",
                  "capabilities": ["time"], "samplers": ["min_p"]}
    if asked["do"] == "time":
        reply |= {"ns": [2_000_000] * asked["repetitions"]}
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.slow
def test_pytest_benchmark_times_a_backend_of_a_user_by_its_own_clock(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(ADAPTER)
    mine = f"mine={shlex.join([sys.executable, str(tmp_path / 'adapter.py')])}"
    options = ("--sampler-backend", mine, "-k", "V4096 and (samplers-min_p or samplers-top_p)")
    benchmarks = timed(tmp_path / "out.json", *options)
    assert [*benchmarks] == [mine]  # it has no top_p
    assert benchmarks[mine]["group"] == "min_p/V4096"
    assert abs(benchmarks[mine]["stats"]["mean"] - 0.002) < 1e-9
