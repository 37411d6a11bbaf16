"""harness/timing/benchmarks: timing suites under pytest-benchmark, with its options and JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXPRESSION = "samplers-min_p and V4096 and (null or reference)"


@pytest.mark.slow
def test_pytest_benchmark_times_the_suites_and_writes_its_json(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "sampler_parity.harness.timing.benchmarks",
    ]
    options = ["--benchmark-only", "-p", "no:xdist", f"--benchmark-json={out}", "-k", EXPRESSION]
    alone = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, env=alone
    )
    assert done.returncode == 0, done.stdout + done.stderr
    benchmarks = {b["params"]["backend"]: b for b in json.loads(out.read_text())["benchmarks"]}
    assert set(benchmarks) == {"null", "reference"}
    assert {b["group"] for b in benchmarks.values()} == {"min_p/V4096"}
    assert {b["stats"]["rounds"] for b in benchmarks.values()} == {5}
    assert benchmarks["reference"]["stats"]["min"] > benchmarks["null"]["stats"]["min"]
