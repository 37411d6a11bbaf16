"""`run --timeout`: it applies to every request of a run."""

import shlex
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.checks.timed_records import SkipRatioResult, TimingResult
from sampler_parity.harness.run import judging
from tests.support.command_line import cli

# Greets, and is silent when it is asked for anything.
SILENT = """
import json, sys, time
for line in sys.stdin:
    if '"bye"' in line:
        break
    if '"hello"' not in line:
        time.sleep(600)
    claims = ["run", "draws", "time", "throughput", "skip_ratio"]
    said = {"name": "silent", "version": "1", "capabilities": claims, "samplers": ["greedy"]}
    print(json.dumps({"ok": True} | said), flush=True)
"""

SUITES = [
    Path(__file__).parent / "suites" / f"{name}.toml" for name in ("greedy_grid", "one_ratio")
]


@pytest.mark.slow
def test_timings_and_skip_ratios_end_when_the_timeout_says(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    name = f"silent={shlex.join([sys.executable, str(tmp_path / 'silent.py')])}"
    cli("run", *SUITES, "-b", name, "--timeout", "0.1", "-o", tmp_path / "b")
    done = bundle.read(tmp_path / "b")
    assert [t.failed["silent"] for t in done.of(TimingResult)] == ["timeout: no reply within 0.1 s"]
    assert [r.detail for r in done.of(SkipRatioResult)] == ["not measured within 1.5 s"]


def test_the_drift_asks_with_the_timeout_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []
    monkeypatch.setattr(judging, "backend", lambda name, timeout_s: asked.append((name, timeout_s)))
    monkeypatch.setattr(
        "sampler_parity.harness.failures.drift.change_results",
        lambda *arguments: [arguments[-1]("reference@b4753")],
    )
    judging.run_changes([], {}, {"reference@b4753": "b4753"}, 7.5)
    assert asked == [("reference@b4753", 7.5)]
