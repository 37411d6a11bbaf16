"""Faults planted in engines: run by name, in their environment, caught by the case they name."""

import dataclasses
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends import engines, environments, registry
from sampler_parity.harness.backends.engines import OWN
from sampler_parity.harness.backends.reference import Worker as Reference
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.harness.faults.worker import Worker as Mutant
from sampler_parity.harness.inputs.logits import Literals
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.maintenance.selftest import engine_faults, engine_trial, engine_worker, selftest
from sampler_parity.maintenance.selftest.engine_faults import Fault, faults, file_of

TOP_K = StagesCase(
    id="top_k/two",
    description="Two stay",
    why="A count.",
    chain=[{"top_k": {"k": 2}}],
    logits=Literals(values=[1.0, 3.0, 2.0]),
)


class OneMore(Reference):
    """The reference itself."""


PLANTED = Fault("null/planted", "A planted fault.", OneMore, case="top_k/two", stage="top_k")


class Raises(Mutant):
    """Breaks, and samples nothing."""

    def candidates(self, logits: NDArray[np.float32]) -> Any:
        raise RuntimeError("broken")


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_faults, "faults_of", lambda _: {PLANTED.name: PLANTED})
    monkeypatch.setattr(engine_worker, "faults_of", lambda _: {PLANTED.name: PLANTED})


def test_a_fault_is_named_behind_its_engine_and_runs_where_the_engine_does() -> None:
    named = engines.parse("mutant/engine/akunu/cpu/off")
    assert named == engines.BackendName("mutant/engine/akunu/cpu/off", "akunu/cpu", fault="off")
    assert registry.command_of("mine=mutant/engine/null/off") == (
        "mine",
        [*WORKER_COMMAND, "mutant/engine", "null", "off"],
    )
    assert engines.parse("mutant/engine/nobody/off") is None
    assert engines.parse("mutant/engine/null/") is None


def test_a_fault_of_a_program_is_a_program_next_to_the_list_of_faults() -> None:
    short, command = registry.command_of("mutant/engine/tsampler/off")
    assert short == "mutant/engine/tsampler/off"
    assert (command[0], *command[2:]) == ("node", "own", "off")
    assert Path(command[1]).resolve() == file_of("tsampler", ".mjs").resolve()


@pytest.mark.usefixtures("_planted")
def test_the_worker_of_a_fault_is_the_faulty_class_under_its_own_name() -> None:
    faulty = engine_worker.Worker("null", "planted")
    assert isinstance(faulty, OneMore)
    assert faulty.hello().name == "mutant/engine/null/planted"
    with pytest.raises(InputError, match=r"null/other: unknown - mutant/engine/null/planted$"):
        engine_worker.Worker("null", "other")


def tried(right: str, wrong: str, fault: Fault = PLANTED) -> engine_trial.EngineResult:
    """Try a worker of the reference, or a mutant of it, in place of the engine and of its fault."""
    backends = [InPlace("null", Mutant(name) if name else Reference()) for name in (right, wrong)]
    try:
        return engine_trial.try_fault(fault, TOP_K, *backends)
    finally:
        for backend in backends:
            backend.close()


def test_a_fault_is_caught_where_its_case_fails_and_the_engine_meets_it() -> None:
    result = tried("", "top_k/keeps-one-more")
    assert result.caught
    assert result.line().startswith("caught   engine/null/planted")
    assert "diverged at top_k by top_k/two" in result.line()


@pytest.mark.parametrize(
    ("right", "wrong", "stage", "printed"),
    [
        ("", "", "top_k", "identical in top_k/two: A planted fault."),
        (
            "top_k/keeps-one-more",
            "top_k/keeps-one-more",
            "top_k",
            "the engine itself: diverged in top_k/two",
        ),
        ("", "top_k/keeps-one-more", "top_p", "diverged at top_k in top_k/two: A planted fault."),
    ],
    ids=["no fault", "the engine has it, too", "another stage"],
)
def test_a_fault_survives_that_shows_nothing_or_shows_in_the_engine_too(
    right: str, wrong: str, stage: str, printed: str
) -> None:
    result = tried(right, wrong, dataclasses.replace(PLANTED, stage=stage))
    assert not result.caught
    assert re.fullmatch(rf"SURVIVED engine/null/planted +{printed}", result.line())


@pytest.mark.parametrize(
    ("stage", "verdict", "caught"),
    [("top_k", "diverged", False), ("", "diverged", False), ("", "crashed", True)],
    ids=["at its stage", "no stage", "meant to crash"],
)
def test_a_fault_that_only_breaks_the_worker_is_caught_only_where_it_says_so(
    stage: str, verdict: Verdict, caught: bool
) -> None:
    fault = dataclasses.replace(PLANTED, stage=stage, verdict=verdict)
    right, wrong = InPlace("null", Reference()), InProcess("top_k/keeps-one-more")
    wrong.name, wrong.worker = "null", Raises("top_k/keeps-one-more")
    result = engine_trial.try_fault(fault, TOP_K, right, wrong)
    right.close()
    wrong.close()
    assert (result.verdict, result.caught) == ("crashed", caught)


def test_an_engine_that_is_not_there_is_skipped_with_the_reason_and_nothing_has_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    planted = dataclasses.replace(PLANTED, name="bare/off")
    monkeypatch.setattr(selftest, "faults", lambda: {planted.name: planted})
    monkeypatch.setattr(engine_trial, "faults", lambda: {planted.name: planted})
    row = environments.known(next(iter(environments.all_environments())))
    absent = OWN["null"].model_copy(update={"name": "bare", "environment": row.name})
    monkeypatch.setitem(OWN, "bare", absent)
    printed: list[str] = []
    report = selftest.run_selftest(["engine/bare"], report=printed.append)
    assert not report.passed
    assert f"skipped  engine/bare: sampler-parity engines add {row.name}" in printed


@pytest.mark.slow
def test_every_edit_of_a_worker_fits_and_gives_another_worker() -> None:
    edits = [fault.of for fault in faults().values() if isinstance(fault.of, Patch)]
    assert len(edits) > 60
    for edit in edits:
        assert edit.faulty() is not edit.right()
        assert edit.faulty().__name__ == "Worker"


@pytest.mark.parametrize(
    ("at", "stage", "verdict"),
    [("", "toy", "diverged"), ("toy_draw", "toy_draw", "diverged"), ("crashed", "", "crashed")],
)
def test_a_row_of_a_worker_has_the_stage_and_the_verdict_that_it_names(
    at: str, stage: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "toy").mkdir()
    edit = 'replace = "a"\nwith = "b"'
    row = f'[[fault]]\nname = "toy/off"\nfault = "Off."\ncase = "toy/one"\nat = "{at}"\n{edit}'
    (tmp_path / "toy" / "worker_faults.toml").write_text(row)
    monkeypatch.setattr(engine_faults, "engines_folder", lambda: tmp_path)
    (fault,) = engine_faults.faults_of("toy").values()
    assert (fault.name, fault.fault, fault.case) == ("toy/off", "Off.", "toy/one")
    assert (fault.stage, fault.verdict) == (stage, verdict)
    assert isinstance(fault.of, Patch)
    assert fault.of.of == "engines/toy/worker.py:Worker"


@pytest.mark.slow
def test_every_fault_names_a_case_of_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_trial, "expand", cache(expand))  # many of each suite
    for name, fault in faults().items():
        assert 0 < len(fault.fault) <= 100, name
        assert engine_trial.case_of(fault).id.startswith(fault.case), name


@pytest.mark.nightly
@pytest.mark.parametrize("engine", sorted({fault.engine for fault in faults().values()}) or [""])
def test_every_fault_of_an_engine_is_caught_in_its_environment(engine: str) -> None:
    if why := registry.inspect(engine).unavailable if engine else "no engine has faults":
        pytest.skip(why)
    results = engine_trial.try_faults(
        engine, [n for n, f in faults().items() if f.engine == engine]
    )
    assert [result.line() for result in results if not result.caught] == []
