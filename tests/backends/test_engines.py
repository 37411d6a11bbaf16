"""Engine suites through the command line, to the parity matrix of one report."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends.engines import _WORKERS, ENGINES, worker_module
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.rows import joined
from sampler_parity.harness.run.plan import RunOptions, plan_of
from tests.support.command_line import ROOT, cli


def matrix_of(bundle: Path, folder: Path) -> dict[str, Any]:
    done = cli("report", bundle, "-f", "json", "-o", folder)
    assert done.returncode == 0, done.stderr
    matrix: dict[str, Any] = json.loads((folder / "parity.json").read_text())["matrix"]
    return matrix


@pytest.mark.parametrize(
    "name",
    [
        *_WORKERS,
        *(name for name, _ in joined("WORKERS")),
        *(name for name, row in ENGINES.items() if row.module),
    ],
)
def test_the_module_of_every_worker_is_there(name: str) -> None:
    assert find_spec(worker_module(name)), worker_module(name)


@pytest.mark.slow
def test_an_engine_suite_ends_in_the_matrix_next_to_the_reference_and_a_wrong_engine(
    tmp_path: Path, as_it_fails: None
) -> None:
    done = cli(
        *("run", "akunu/akunu", "--case", "akunu/cap-*", "-j", "1", "-o", tmp_path / "b"),
        *("-b", "akunu/cpu", "-b", "reference", "-b", "mutant/akunu/no-cap"),
    )
    assert done.returncode == 1, done.stderr
    matrix = matrix_of(tmp_path / "b", tmp_path / "r")
    assert matrix["backends"] == ["reference", "akunu/cpu", "mutant/akunu/no-cap"]
    (row,) = matrix["rows"]
    assert row["sampler"] == "akunu"
    verdicts = [cell["verdict"] for cell in row["cells"]]
    assert verdicts == ["identical", "identical", "diverged"]
    assert row["cells"][1]["cases"] == row["cells"][1]["identical"] >= 2
    assert {d["stage"] for d in row["cells"][2]["differences"]} == {"akunu"}


@pytest.mark.slow
def test_if_available_names_an_engine_that_is_not_here_and_is_no_failure(tmp_path: Path) -> None:
    absent = f"absent={tmp_path / 'no-such-program'}"
    arguments = ("run", "transformers", "-b", absent, "-o", tmp_path / "b")
    done = cli(*arguments, "--if-available")
    assert done.returncode == 0
    message = f"nothing was run: backend {absent} does not run here: "
    assert message in done.stdout + done.stderr
    assert not (tmp_path / "b").exists()
    assert cli(*arguments).returncode != 0


def test_every_engine_of_others_has_a_page_that_is_there_and_every_page_an_engine() -> None:
    named = {row.documented for row in ENGINES.values() if row.documented}
    assert [page for page in named if not (ROOT / page).is_file()] == []
    made = [row for row in ENGINES.values() if row.in_make_engines]
    assert [row.name for row in made if not row.documented] == []
    pages = {f"engines/{path.parent.name}/README.md" for path in ROOT.glob("engines/*/README.md")}
    assert pages - named == set()


@pytest.mark.slow
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
    plan = plan_of(RunOptions([suite], [backend], profile="full"))
    assert plan.ruled is expected
    assert not plan_of(RunOptions([suite], [backend], profile="quick")).ruled
