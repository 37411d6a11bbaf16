"""harness/cli/run.py: the last lines of a run."""

import re
import shlex
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sampler_parity.harness.bundle.records import BackendResult, CounterexampleResult
from sampler_parity.harness.cli.bundle_summary import next_command
from sampler_parity.harness.cli.run import _in_other_suites, interrupted
from sampler_parity.harness.run.eta import Pace, Work
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.harness.suite import items
from sampler_parity.harness.suite.file import find_suites
from tests.support.command_line import ROOT, cli
from tests.support.gate_bundles import finished
from tests.support.report_bundles import case, diverged, got, run_info

GOOD = case("s/good", {"native": BackendResult(verdict="identical")})
SOME = Pace([Work("cases", 6_152, 1_450, 0.1)], now=0.0)


@pytest.mark.parametrize(
    ("pace", "named", "message"),
    [
        (None, False, "interrupted before anything was done"),
        (SOME, True, "interrupted after 1,450 of 6,152: add --resume"),
        (SOME, False, "interrupted after 1,450 of 6,152: add -o 'a b' --resume"),
    ],
    ids=["at once", "its folder was named", "its folder has a name of ours"],
)
def test_an_interrupted_run_names_the_option_that_goes_on(
    pace: Pace | None, named: bool, message: str
) -> None:
    assert str(interrupted(pace, Path("a b"), named)) == message


def test_behind_a_failure_comes_the_command_that_explains_the_worst(tmp_path: Path) -> None:
    cases = [GOOD, case("s/bad", {"native": diverged(values={"rank": 0})})]
    done = finished(tmp_path / "a b", cases, run_info("native"))
    command = next_command(done, met=False)
    assert command == f"sampler-parity explain '{tmp_path / 'a b'}' s/bad"


def test_the_case_to_explain_is_the_one_that_was_made_small(tmp_path: Path) -> None:
    cases = [case(name, {"native": diverged(values={"rank": 0})}) for name in ("s/a", "s/b")]
    small = CounterexampleResult(id="s/b on native", case="s/b", backend="native", said="so")
    done = finished(tmp_path / "x", cases, run_info("native"))
    done = replace(done, records={"counterexample": [small]})
    assert next_command(done, met=False).endswith(" s/b")


def test_behind_roundings_alone_comes_the_option_that_accepts_them(tmp_path: Path) -> None:
    near = [case(f"s/{of}", {"native": got(of)}) for of in ("close", "boundary")]
    done = finished(tmp_path / "a", near, run_info("native"))
    assert next_command(done, met=False).startswith("run again with --accept correct: ")
    wrong = case("s/c", {"native": diverged()})
    worse = finished(tmp_path / "b", [*near, wrong], run_info("native"))
    assert next_command(worse, met=False).endswith(" s/c")


def test_behind_a_run_without_failures_comes_its_report_or_the_gate(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    done = finished(folder, [GOOD], run_info("native"))
    assert next_command(done, met=True) == f"sampler-parity report {folder}"
    info = run_info("native").model_copy(update={"profile": "full"})
    whole = finished(tmp_path / "c", [GOOD], info)
    assert next_command(whole, met=True) == f"sampler-parity gate {tmp_path / 'c'}"


def test_a_case_that_a_bundle_lacks_is_refused_with_what_was_meant(tmp_path: Path) -> None:
    finished(tmp_path / "b", [GOOD], run_info("native"))
    done = cli("explain", tmp_path / "b", "s/god")
    assert done.stderr.endswith("has no case 's/god' - did you mean s/good?\n")


def test_an_interrupted_campaign_names_the_option_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*asked: object) -> None:
        raise KeyboardInterrupt

    executor = nullcontext(SimpleNamespace(size=1))
    monkeypatch.setattr("sampler_parity.harness.run.run.executor_of", lambda *asked: executor)
    monkeypatch.setattr("sampler_parity.harness.run.run.described", lambda *asked: run_info("null"))
    monkeypatch.setattr("sampler_parity.harness.run.campaign.go_on", interrupt)
    before = signal.getsignal(signal.SIGINT)
    done = cli("fuzz", "-b", "null", "-o", tmp_path / "f", "--for", "1s")
    signal.signal(signal.SIGINT, before)
    assert done.returncode == 130
    assert done.stderr == "sampler-parity: interrupted after 0 chunks: add --resume\n"


MINE = f"mine={sys.executable} {ROOT / 'examples' / 'adapter.py'}"  # has top_k, temp, greedy, dist


def test_without_suites_a_program_runs_what_its_greeting_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "OF_SAMPLERS", ["parity/greedy", "parity/xtc", "speculative"])
    done = cli("run", "-b", MINE, "--plan")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (of,) = re.findall(
        r"^suites   1 of (\d+) by the greeting, 124 cases, 39 are skipped$", lines[0]
    )
    assert int(of) == len(find_suites(["parity/greedy", "parity/xtc", "speculative"]))
    assert lines[1] == "         parity: greedy"
    assert lines[-1].startswith("total    stages 124;")
    gone = cli("run", "-b", "mine=no-such-program", "--plan")
    assert "by the greeting" not in gone.stdout
    monkeypatch.setattr(items, "OF_SAMPLERS", [])
    assert "by the greeting" not in cli("run", "-b", "null", "--plan", "--case", "top_k/*").stdout


@pytest.mark.slow
def test_behind_the_suite_of_a_sampler_comes_the_command_for_all_its_cases(tmp_path: Path) -> None:
    done = cli("run", "parity/temp", "-b", MINE, "-o", tmp_path / "b", "--accept", "tied")
    assert done.returncode == 0, done.stderr
    command = shlex.join(["sampler-parity", "run", "--sampler", "temp", "-b", MINE])
    command += " --accept tied"
    assert f"more     684 cases of it are in other suites: {command}\n" in done.stdout
    for others in (["parity/temp", "parity/top_k"], ["parity/chains"]):
        assert not _in_other_suites(plan_of(RunOptions(others, [MINE])))
    assert not _in_other_suites(plan_of(RunOptions(["parity/temp"], ["llama.cpp"])))
