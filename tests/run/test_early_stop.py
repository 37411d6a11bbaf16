"""harness/run/early_stop.py: a backend that fails alike five times in a row is stopped."""

import shlex
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.run.crash_journal import FOLDER
from sampler_parity.harness.run.early_stop import Streak
from tests.support.command_line import cli

# Is silent while a file is next to it; else it refuses what it is asked for.
SILENT = """
import json, pathlib, sys, time
for line in sys.stdin:
    if '"hello"' in line:
        said = {"ok": True, "name": "s", "version": "1", "capabilities": ["run"]}
        said["samplers"] = ["greedy"]
    elif pathlib.Path(__file__).with_name("silent").exists():
        time.sleep(600)
    else:
        said = {"ok": False, "kind": "rejected", "message": "no"}
    print(json.dumps(said), flush=True)
"""
CASE = """
[[case]]
id = "c{}"
description = "d"
why = "w"
chain = [{{ greedy = {{}} }}]
logits = {{ values = [1.0, 2.0] }}
"""


def silent(folder: Path, cases: int) -> list[str]:
    """Write a silent backend, and a suite of so many cases; return options of a run."""
    (folder / "s.py").write_text(SILENT)
    (folder / "silent").touch()
    (folder / "s.toml").write_text('name = "s"' + "".join(map(CASE.format, range(cases))))
    command = shlex.join([sys.executable, str(folder / "s.py")])
    return ["-b", f"s={command}", "-o", str(folder / "b")]


@pytest.mark.parametrize("others", [["-b", "null"], []])
def test_a_silent_backend_is_stopped_and_resume_asks_for_the_rest(
    tmp_path: Path, others: list[str]
) -> None:
    options = [*silent(tmp_path, cases=30), "--timeout", "1", "-j", "2", *others]
    ran = cli("run", tmp_path / "s.toml", *options)
    results = {case.id: case.backends for case in bundle.read(tmp_path / "b").cases}
    asked = [id for id, got in results.items() if got["s"].detail == "no reply within 1 s"]
    assert ran.returncode == 1
    assert len(results) == 30
    assert 5 <= len(asked) <= 6  # two processes: one more may be under way
    assert {got["s"].verdict for got in results.values()} == {"timeout"}
    assert not others or "timeout" not in {got["null"].verdict for got in results.values()}
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("stopped  s: "))
    assert line.startswith("stopped  s: no reply within 1 s in 5 cases in a row, the first of")
    assert f"them {asked[0]} (greedy). " in line or f"them {asked[1]} (greedy). " in line
    assert "--keep-going" in line
    assert line.endswith(f" -b {shlex.quote(options[1])} --timeout 1")
    assert f"{30 - len(asked)} cases take too long: not run: no reply" in ran.stdout

    (tmp_path / "silent").unlink()
    cli("run", tmp_path / "s.toml", *options, "--resume")
    resumed = {case.id: case.backends["s"].verdict for case in bundle.read(tmp_path / "b").cases}
    assert resumed == {id: "timeout" if id in asked else "rejected" for id in results}


def test_keep_going_asks_for_every_case(tmp_path: Path) -> None:
    options = [*silent(tmp_path, cases=8), "--keep-going", "--timeout", "0.2"]
    assert "stopped" not in cli("run", tmp_path / "s.toml", *options).stdout
    details = {case.backends["s"].detail for case in bundle.read(tmp_path / "b").cases}
    assert details == {"no reply within 0.2 s"}


def test_only_equal_failures_in_a_row_stop_a_backend(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    terms = Terms({"s": None}, in_flight=tmp_path, in_a_row=5)
    streaks = [Streak(terms, 0), Streak(terms, 0)]  # of two processes

    def end(*messages: str, required: str = "identical") -> bool:
        for place, message in enumerate(messages):
            got = BackendResult(verdict="crashed" if message else "identical", detail=message)
            case = {"id": str(place), "samplers": [], "steps": 1, "backends": {"s": got}}
            result = CaseResult.model_validate(case | {"required": {"s": [required]}})
            streaks[place % 2].ended("s", result)
        return all(streak.stop() for streak in streaks)

    assert not end("a", "a", "a", "a", "a", required="crashed")
    assert not end("a", "a", "a", "a", "", "a", "a", "a", "a", "b", "a", "a", "a", "a")
    assert end("a")
    assert end("")  # for good
