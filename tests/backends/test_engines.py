"""Engine suites through the command line, to the parity matrix of one report."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.llama_cpp.libllama import default_folder
from sampler_parity.harness.cli import engines
from sampler_parity.harness.cli.app import app
from sampler_parity.harness.cli.engines import runs
from sampler_parity.harness.run.plan import Asked, plan_of


def cli(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def matrix_of(bundle: Path, folder: Path) -> dict[str, Any]:
    done = cli("report", bundle, "-f", "json", "-o", folder)
    assert done.exit_code == 0, done.output
    matrix: dict[str, Any] = json.loads((folder / "parity.json").read_text())["matrix"]
    return matrix


@pytest.mark.slow
def test_an_engine_suite_ends_in_the_matrix_beside_the_reference_and_a_wrong_engine(
    tmp_path: Path,
) -> None:
    done = cli(
        *("run", "akunu/akunu", "--case", "akunu/cap-*", "-j", "1", "-o", tmp_path / "b"),
        *("-b", "akunu/cpu", "-b", "reference", "-b", "mutant/akunu/no-cap"),
    )
    assert done.exit_code == 1, done.output
    matrix = matrix_of(tmp_path / "b", tmp_path / "r")
    assert matrix["backends"] == ["reference", "akunu/cpu", "mutant/akunu/no-cap"]
    (row,) = matrix["rows"]
    assert row["sampler"] == "akunu"
    verdicts = [cell["verdict"] for cell in row["cells"]]
    assert verdicts == ["identical", "identical", "diverged"]
    assert row["cells"][1]["cases"] == row["cells"][1]["identical"] >= 2
    assert {d["stage"] for d in row["cells"][2]["differences"]} == {"akunu"}


def test_if_available_names_an_engine_that_is_not_here_and_is_no_failure(tmp_path: Path) -> None:
    absent = f"absent={tmp_path / 'no-such-program'}"
    arguments = ("run", "transformers", "-b", absent, "-o", tmp_path / "b")
    done = cli(*arguments, "--if-available")
    assert done.exit_code == 0
    assert f"nothing was run: backend {absent} does not run here: " in done.output
    assert not (tmp_path / "b").exists()
    assert cli(*arguments).exit_code != 0


@pytest.mark.parametrize(
    ("suite", "backend", "expected"),
    [
        ("parity/temp", "llama.cpp", True),
        ("parity/temp", f"llama.cpp@{default_folder()}", True),
        ("parity/temp", "tsampler", False),
        ("devices", "llama.cpp", False),
        ("draws/tsampler", "tsampler", False),
    ],
)
def test_timings_run_with_the_suites_of_llama_cpps_samplers_on_a_build_of_it(
    suite: str, backend: str, expected: bool
) -> None:
    plan = plan_of(Asked([suite], [backend], profile="full"))
    assert plan.ruled is expected
    assert not plan_of(Asked([suite], [backend], profile="quick")).ruled


def test_make_engines_runs_each_engine_beside_the_reference_and_then_its_draws() -> None:
    lines = [" ".join(arguments) for arguments in runs(Path("b"))]
    options = "--if-available --require-all"
    assert lines[0] == f"run akunu/akunu -b akunu/cpu -b reference {options} -o b/akunu-cpu"
    assert f"run draws/transformers -b transformers {options} -o b/transformers-draws" in lines
    skipping = "run properties -b tsampler -b reference --if-available -o b/tsampler-properties"
    assert skipping in lines  # what an engine does not claim is not asked
    theirs = {f" -b {name} " for name, row in ENGINES.items() if row.environment}
    ours = [line for line in lines if not any(name in line for name in theirs)]
    assert [line.split(" -o ")[1] for line in ours] == [
        *("b/akunu-cpu", "b/akunu-gumbel", "b/power_law", "b/tsampler", "b/transformers"),
        *("b/akunu-cpu-properties", "b/akunu-gumbel-properties", "b/power_law-properties"),
        *("b/tsampler-properties", "b/transformers-properties"),
        *("b/akunu-cpu-draws", "b/akunu-gumbel-draws", "b/tsampler-draws", "b/transformers-draws"),
    ]


def test_make_engines_ends_with_the_status_of_the_first_run_that_is_not_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def fails(command: list[str]) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1 if len(asked) == 2 else 0)

    monkeypatch.setattr(subprocess, "run", fails)
    monkeypatch.setattr(sys, "argv", ["engines", "b"])
    with pytest.raises(SystemExit) as ended:
        engines.main()
    assert (ended.value.code, len(asked)) == (1, 2)
