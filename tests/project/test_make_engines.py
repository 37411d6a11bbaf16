"""`make engines`: the runs of each engine, the reasons for skipped ones, and the table."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends import installing, registry
from sampler_parity.harness.backends.engines import ENGINES, OWN
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.errors import InputError
from scripts import make_engines as engines
from scripts.make_engines import EngineOutcome, check, chosen, runs, table


def test_an_engine_runs_next_to_the_reference_then_its_properties_and_its_draws() -> None:
    lines = [" ".join(arguments) for arguments in runs(ENGINES["tsampler"], Path("b"))]
    options = "--if-available --require-all"
    compared, level = "-b tsampler -b reference --if-available", "--accept correct"
    assert lines == [
        f"run tsampler {compared} --require-all {level} -o b/tsampler",
        # what an engine does not claim is not asked
        f"run properties {compared} {level} -o b/tsampler-properties",
        f"run draws/tsampler -b tsampler {options} -o b/tsampler-draws",
    ]
    assert runs(ENGINES["akunu/cpu"], Path("b"))[0][-3:] == ["--require-all", "-o", "b/akunu-cpu"]


def test_engines_are_chosen_by_their_name_or_that_of_their_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = {"name": "theirs/fast", "environment": "theirs"}
    theirs = ENGINES["tsampler"].model_copy(update=changed)
    monkeypatch.setitem(OWN, "theirs/fast", theirs)
    assert [row.name for row in chosen(["theirs"])] == ["theirs/fast"]
    assert [row.name for row in chosen(["theirs/fast"])] == ["theirs/fast"]
    assert "theirs/fast" in [row.name for row in chosen([])]
    with pytest.raises(InputError, match=r"engine 'tsamplr': `make engines` has none .*tsampler"):
        chosen(["tsamplr"])


class Runs:
    """The command line. status: by engine, what its runs exit with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.status, self.asked, self.printed = dict[str, int](), list[str](), list[str]()
        self.folder = tmp_path
        for name in ("first", "second"):
            changed = {"name": name, "suites": ["x"], "in_make_engines": True}
            monkeypatch.setitem(OWN, name, OWN["null"].model_copy(update=changed))
        monkeypatch.setattr(engines, "chosen", lambda _: [ENGINES[n] for n in ("first", "second")])
        monkeypatch.setattr(subprocess, "run", self.run)
        monkeypatch.setattr(registry, "inspect", self.inspect)
        monkeypatch.setattr(engines, "_count", lambda *_: None)
        monkeypatch.setattr(engines, "print_line", self.printed.append)
        monkeypatch.setattr(engines, "error", self.printed.append)

    def run(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        words = " ".join(command[3:])
        self.asked.append(words)
        name = command[command.index("-b") + 1] if "-b" in command else "report"
        Path(command[-1]).mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(command, self.status.get(name, 0))

    def inspect(self, name: str) -> BackendInfo:
        why = "no GPU" if name == "second" and "second" in self.status else ""
        return BackendInfo(command=[], version="1.0", unavailable=why)

    def check(self, *names: str) -> int:
        return check(self.folder / "b", self.folder / "r", list(names))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    return Runs(monkeypatch, tmp_path)


def test_one_engine_that_is_not_as_required_stops_no_other_and_the_status_is_1(made: Runs) -> None:
    made.status["first"] = 1
    assert made.check() == 1
    assert [words.split()[0] for words in made.asked] == ["run", "run", "report"]
    assert made.printed[-1] == "engines  1/2 as required, 0 not here"
    assert f"  exit status 1 - {made.folder}/b/first" in made.printed


def test_an_engine_that_is_not_here_is_named_and_fails_only_where_it_was_asked_for(
    made: Runs,
) -> None:
    made.status["second"] = 0
    assert made.check() == 0
    assert "second   not here: no GPU" in made.printed
    assert made.printed[-1] == "engines  1/1 as required, 1 not here"
    assert made.check("first", "second") == 1


def test_what_cannot_be_installed_is_one_line_and_stops_no_other(
    made: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ENGINES["first"].model_copy(update={"environment": "theirs"})
    monkeypatch.setitem(OWN, "first", first)

    def fails(name: str, _say: object) -> None:
        raise InputError("theirs-1.0", "pip cannot install it: no space left")

    monkeypatch.setattr(installing, "add", fails)
    assert made.check() == 0
    assert "theirs-1.0: pip cannot install it: no space left" in made.printed
    assert "first   " not in "".join(made.asked)
    assert made.printed[-2].endswith("not here: theirs-1.0: pip cannot install it: no space left")


def test_a_report_that_fails_is_a_failure(made: Runs) -> None:
    made.status["report"] = 1
    assert made.check() == 1


def test_a_run_that_left_no_whole_bundle_is_named(tmp_path: Path) -> None:
    outcome = EngineOutcome("first")
    engines._count(outcome, tmp_path)
    assert outcome.wrong
    assert str(tmp_path) in outcome.wrong[0]


def test_the_table_has_a_line_an_engine_and_ends_with_the_sum() -> None:
    wrong = ["exit status 1 - b/rwkv"]
    outcomes = [
        EngineOutcome("vllm", "0.32.0", "41 s", 12.4, 1234, 1234, 8, 8),
        EngineOutcome("rwkv", "0.8.32", "cached", 3.0, 9, 10, 0, 0, wrong=wrong),
        EngineOutcome("flash", why="needs a GPU"),
    ]
    assert table(outcomes) == [
        "engine   version   install    run   as required   draws",
        "vllm     0.32.0       41 s   12 s   1,234/1,234     8/8   ok",
        "rwkv     0.8.32     cached    3 s          9/10       -   FAILED",
        "  exit status 1 - b/rwkv",
        "flash    not here: needs a GPU",
        "engines  1/2 as required, 1 not here",
    ]
