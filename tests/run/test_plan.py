"""harness/run/plan.py: a run is planned, counted and printed before it starts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run.cluster import Cluster
from sampler_parity.harness.run.plan import Plan, RunOptions, lines, plan_of
from sampler_parity.harness.run.run import described
from sampler_parity.harness.run.started import Intent, describe
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.file import SuiteFile
from tests.support.command_line import cli
from tests.support.suites import SMALL

MIXED = ["parity/greedy", "distribution/frequencies", "timing/disabled", "throughput"]


def plan(*suites: str, **options: object) -> Plan:
    return plan_of(RunOptions(list(suites), ["llama.cpp", "null"], **options))  # type: ignore[arg-type]


@pytest.mark.slow
def test_cells_and_timings_of_a_bundle_are_not_taken_from_the_cases_that_are_left() -> None:
    whole = plan(*MIXED)
    cells = {item.id for item in whole.of("distribution tests")}
    timed = {item.id for item in whole.of("timed chains")}
    assert cells
    assert timed
    first = whole.of("cases")[0].id
    left = whole.left(cells | timed | {first})
    assert len(left.of("cases")) == len(whole.of("cases")) - 1
    assert left.of("distribution tests", "timed chains") == []
    assert left.of("widths") == whole.of("widths")


def test_skip_ratio_is_left_until_every_backend_has_its_result() -> None:
    whole = plan("skip_ratio")
    first = whole.items[0].id
    assert len(whole.left({f"{first}@null"}).items) == len(whole.items)
    both = {f"{first}@null", f"{first}@llama.cpp"}
    assert len(whole.left(both).items) == len(whole.items) - 1


@pytest.mark.slow
def test_plan_has_what_case_names_of_every_kind_in_the_full_profile() -> None:
    (one, *_), (chain, *_) = plan("parity/greedy").items, plan("timing/disabled").items
    named = plan(*MIXED, only=(one.id, f"{chain.id[:-3]}*"))
    assert [item.id for item in named.of("cases")] == [one.id]
    assert chain.id in {item.id for item in named.items}
    assert named.of("distribution tests", "widths") == []


@pytest.mark.slow
def test_a_case_is_found_without_expanding_other_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded: list[str] = []
    really = suite._expanded

    def expand(file: SuiteFile, cases: bool, *options: Any) -> Iterator[Any]:
        expanded.extend([file.path.stem] * cases)
        return really(file, cases, *options)

    monkeypatch.setattr(suite, "_expanded", expand)
    named = plan("parity", only=("greedy/first-of-equals",))
    assert [item.id for item in named.items] == ["greedy/first-of-equals"]
    assert expanded == ["greedy"]
    assert len(named.suites) > 20  # of which it is a run, as before
    with pytest.raises(InputError, match="no such case - did you mean parity/greedy"):
        plan("parity", only=("gredy/first-of-equals",))


def test_timings_are_refused_on_a_cluster_before_it_is_asked() -> None:
    with pytest.raises(InputError, match="measured on this machine only"):
        plan("timing/disabled", executor="dask:tcp://127.0.0.1:9")


def test_lines_state_backends_suites_counts_and_what_is_left() -> None:
    whole = plan("parity/greedy", "timing/disabled", reference="b4753")
    printed = list(lines(whole, {whole.of("cases")[0].id}))
    n, timed = len(whole.of("cases")), len(whole.of("timed chains"))
    assert "backend  llama.cpp, judged by b4753" in printed
    assert f"suite    parity/greedy: stages {n}" in printed
    assert f"left     stages {n - 1}, timed chains {timed}" in printed
    assert printed[-1].startswith(f"total    stages {n}, timed chains {timed}; about ")


def test_run_with_plan_lists_it_and_runs_nothing(tmp_path: Path) -> None:
    done = cli("run", "parity/greedy", "--plan", "-o", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    assert "suite    parity/greedy: " in done.stdout
    assert "nothing was run" in done.stdout
    assert not (tmp_path / "b").exists()


def refusal(suites: list[str], *backends: str) -> str:
    with pytest.raises(InputError) as error:
        plan_of(RunOptions(suites, list(backends or ["null"])))
    return str(error.value)


def two_of_small(folder: Path, *below: str) -> list[str]:
    """Write the small suite into two folders, or into folders below them."""
    paths = [folder.joinpath(name, *below, "small.toml") for name in ("one", "two")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(SMALL)
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    ("backends", "line"),
    [
        (["null", "null"], "backend null: named twice"),
        (["a=null", "a=reference"], "backend a: named twice"),
        (["a=./one", "a=./two --x"], "backend a: named twice"),
        (
            ["a/b=null", "a:b=null"],
            "backend a:b: has the same file names in a bundle as a/b",
        ),
    ],
    ids=["a backend", "an alias", "adapters", "files"],
)
def test_two_backends_of_one_name_are_refused(backends: list[str], line: str) -> None:
    refused = refusal(["parity/temp"], *backends)
    assert refused == f"{line} - give each a name of its own: -b NAME=BACKEND"


def test_a_case_that_two_suites_have_is_refused(tmp_path: Path) -> None:
    assert refusal(two_of_small(tmp_path)) == (
        "case small/many/normal-V128-k0-seed1: is in one/small and in two/small"
        " - run them into separate bundles"
    )


def test_two_files_of_one_suite_are_refused(tmp_path: Path) -> None:
    paths = two_of_small(tmp_path, "mine")
    line = f"{paths[1]}: is suite mine/small, as is {paths[0]} - rename one of them"
    assert refusal(paths) == line


class _Elsewhere(Cluster):
    """A cluster that keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Intent] = []

    def describe(self, intent: Intent) -> RunInfo:
        self.asked.append(intent)
        return describe(replace(intent, backends={}))


def test_a_run_records_the_state_that_its_cache_was_chosen_by_and_a_cluster_its_own() -> None:
    asked = RunOptions(["parity/greedy"], ["null"], cache=True)
    intent = plan_of(asked).intent
    assert intent.state == machine.deciding()
    planted = replace(intent, state={**machine.deciding(), "code": "planted"}, ready_s=None)
    assert described(planted, None).machine.code == "planted"
    elsewhere = _Elsewhere()
    assert described(planted, elsewhere).machine == machine.describe()
    assert elsewhere.asked[0].state is None
    assert plan_of(replace(asked, cache=False)).intent.state is None


@pytest.mark.slow
def test_a_run_of_a_sampler_has_the_quick_cases_of_all_suites_that_exercise_it() -> None:
    suites = ["parity/xtc", "parity/state", "batch/rows", "distribution/frequencies"]
    limited = plan(*suites, only=("sampler=xtc",))
    expected = [item.id for item in plan(*suites).items if "xtc" in item.check.samplers]
    assert [item.id for item in limited.items] == expected
    assert {item.suite for item in limited.items} == {*suites}
    named = plan(*suites, only=("xtc/*", "sampler=xtc"))
    assert {item.suite for item in named.items} == {"parity/xtc"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sampler", "xtcc"], "--sampler xtcc: no such sampler - did you mean xtc?"),
        (
            ["parity/greedy", "--sampler", "dry"],
            "--sampler dry: no case of these suites has it - leave out SUITES",
        ),
    ],
)
def test_a_sampler_without_cases_is_refused(arguments: list[str], message: str) -> None:
    done = cli("run", *arguments, "--plan")
    assert (done.returncode, message in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_run_of_a_sampler_is_judged_by_a_gate_that_allows_parts(tmp_path: Path) -> None:
    bundle, policy = tmp_path / "bundle", tmp_path / "gate.toml"
    policy.write_text("schema_version = 1\npartial = true\n\n[[parity]]\n")
    done = cli("run", "parity/state", "--sampler", "xtc", "-b", "reference", "-o", bundle)
    assert done.returncode == 0, done.stderr
    assert cli("gate", bundle).returncode == 2  # the default policy wants whole suites
    judged = cli("gate", bundle, "--policy", policy)
    assert judged.returncode == 0, judged.stdout + judged.stderr
