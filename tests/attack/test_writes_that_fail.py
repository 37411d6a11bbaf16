"""Each system call that writes a bundle fails in turn, in each way that a disk fails.

No recorded result is lost, doubled or changed. The command ends with exit status 2 and one line,
and `--resume` completes the bundle as an undisturbed run makes it. The cases are not computed here:
a result and its artifact are written as a run writes them.
"""

import contextlib
import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.artifacts import stage_file, write_arrays
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks import execute as cases
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.context import silent
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run import judging
from sampler_parity.harness.run.plan import Plan, RunOptions, plan_of
from sampler_parity.harness.run.run import run
from sampler_parity.reports.write import write_texts
from tests.support.command_line import cli, refused
from tests.support.failing_disk import FailingDisk
from tests.support.judged import Inline
from tests.support.report_bundles import case, diverged, run_info
from tests.support.whole_bundle import Results, results_of

SUITE = """
name = "little"
[[matrix]]
id = "a"
description = "top_k of three seeds"
why = "a run of a few writes"
chain = [{ top_k = { k = 5 } }, { dist = { seed = "$seed" } }]
vary = { seed = [1, 2, 3] }
families = ["normal"]
sizes = [64]
requires = { null = ["diverged"] }
"""
WAYS: dict[str, dict[str, Any]] = {
    "ENOSPC": {"error": errno.ENOSPC},
    "EIO": {"error": errno.EIO},
    "EDQUOT": {"error": errno.EDQUOT},
    "ENOSPC behind a half": {"error": errno.ENOSPC, "half": True},
    "ENOSPC for ever": {"error": errno.ENOSPC, "half": True, "for_ever": True},
}
TIMES = {"reference_s", "wall_s", "ns"}


class InThisProcess(Inline, Pool):
    """Calls here, where the disk fails."""


def computed(one: Case, backends: object, artifacts: Path, *others: object) -> CaseResult:
    """Differs from the reference, as its case allows, and has an artifact."""
    write_arrays(artifacts / stage_file(one.id, "null"), ids=np.arange(9), name=np.array(one.id))
    required = {"null": one.required("null")}
    return case(one.id, {"null": diverged()}, samplers=one.samplers, required=required)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Three cases in two chunks."""
    (tmp_path / "little.toml").write_text(SUITE)
    plan = plan_of(RunOptions([str(tmp_path / "little.toml")], ["null"]))
    info = run_info("null", suites=plan.suites)
    monkeypatch.setattr("sampler_parity.harness.run.run.Pool", InThisProcess)
    monkeypatch.setattr("sampler_parity.harness.run.run.describe", lambda intent: info)
    mute = SimpleNamespace(name="null", asked=0, late=[], settle=lambda silence_s: None)
    mute.hello = lambda: SimpleNamespace(capabilities=[])
    monkeypatch.setattr(judging, "backend", lambda *asked: mute)
    monkeypatch.setattr(cases, "execute", computed)
    monkeypatch.setattr(judging, "_PORTION_ITEMS", 2)
    monkeypatch.setattr(disk, "os", FailingDisk(0, 0))  # none, until a test asks for one
    return plan


def refusal(plan: Plan, folder: Path) -> str:
    """Return the error of `run --resume`, or ""."""
    try:
        run(plan, folder, True, lambda n: contextlib.nullcontext(silent), print)
    except InputError as error:
        return str(error)
    return ""


def untimed(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: untimed(value) for key, value in data.items() if key not in TIMES}
    return [untimed(value) for value in data] if isinstance(data, list) else data


def artifacts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "artifacts").iterdir())}


def recorded(folder: Path) -> Results:
    """Return the results in the folder, which may be no bundle yet, or a finished one."""
    path = folder / "results.jsonl"
    if not path.exists():
        return {}
    content = path.read_bytes()
    ended = b'{"kind":"footer"' in content and content.endswith(b"\n")
    return results_of(folder, finished=ended)


def disturbed(
    monkeypatch: pytest.MonkeyPatch, way: dict[str, Any], run: Callable[[], Any]
) -> Iterator[tuple[int, Any]]:
    """Yield the results of runs whose n-th call fails, until a run makes fewer than n calls."""
    for nth in range(1, 1000):
        disk = FailingDisk(nth, **way)
        with monkeypatch.context() as patches:
            for module in ("disk", "lock"):
                patches.setattr(f"sampler_parity.harness.bundle.{module}.os", disk)
            message = run()
        if not disk.reached:
            return
        yield nth, message


@pytest.fixture
def whole(plan: Plan, tmp_path: Path) -> Path:
    """The bundle of an undisturbed run."""
    assert refusal(plan, tmp_path / "whole") == ""
    assert len(results_of(tmp_path / "whole")) == len(artifacts(tmp_path / "whole")) == 3
    return tmp_path / "whole"


def begun(folder: Path, whole: Path, state: str) -> None:
    """Prepare the folder in which a run begins."""
    shutil.rmtree(folder, ignore_errors=True)
    if state == "nothing":
        return
    shutil.copytree(whole, folder)
    if state == "a torn bundle":
        lines = (whole / "results.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "results.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:50])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "way"),
    [
        *(("nothing", way) for way in WAYS),
        *(("a torn bundle", way) for way in ("ENOSPC behind a half", "ENOSPC for ever")),
        *(("a finished bundle", way) for way in ("ENOSPC behind a half", "ENOSPC for ever")),
    ],
)
def test_a_write_that_fails_costs_nothing_that_was_recorded(
    plan: Plan, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, way: str
) -> None:
    folder, expected = tmp_path / "b", results_of(whole)

    def again() -> tuple[Results, str]:
        begun(folder, whole, state)
        return recorded(folder), refusal(plan, folder)

    refusals = 0
    for nth, (before, message) in disturbed(monkeypatch, WAYS[way], again):
        after = recorded(folder)
        assert before.items() <= after.items(), f"call {nth} lost or changed a record"
        assert message or after.keys() == expected.keys()
        if message:
            refusals += 1
            assert "cannot write" in message
        assert refusal(plan, folder) == ""
        completed = results_of(folder)
        assert after.items() <= completed.items(), f"--resume after call {nth} changed a record"
        assert untimed(completed) == untimed(expected)
        assert artifacts(folder) == artifacts(whole)
        assert {path.name for path in folder.iterdir()} == {path.name for path in whole.iterdir()}
    assert refusals > 8


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("a torn line stays", "Extra data|delimiter|Expecting"),
        ("a write is made again", "stands twice"),
    ],
)
def test_a_planted_fault_of_the_writer_is_seen(
    plan: Plan, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, seen: str
) -> None:
    append = disk.append

    def twice(path: Path, content: bytes) -> None:
        append(path, content)
        append(path, content)

    begun(tmp_path / "b", whole, "a torn bundle")
    if fault == "a torn line stays":
        monkeypatch.setattr(disk, "cut", lambda path, size: None)
    else:
        monkeypatch.setattr(disk, "append", twice)
    assert refusal(plan, tmp_path / "b")  # the reader, too, sees it as the run ends
    with pytest.raises((AssertionError, ValueError), match=seen):
        recorded(tmp_path / "b")


@pytest.mark.slow
def test_a_write_that_takes_a_half_at_a_time_is_gone_on_with(
    plan: Plan, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "b"

    def again() -> str:
        begun(folder, whole, "nothing")
        return refusal(plan, folder)

    for nth, message in disturbed(monkeypatch, {"error": 0}, again):
        assert message == ""
        assert untimed(results_of(folder)) == untimed(results_of(whole)), f"call {nth}"
        assert artifacts(folder) == artifacts(whole)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_report_that_fails_leaves_each_page_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    old = {"index.html": "old " * 1000, "parity.html": "old " * 2000}
    new = {"index.html": "new " * 900, "parity.html": "new " * 1900}

    monkeypatch.setattr(
        "sampler_parity.reports.write.write_report",
        lambda bundles, folder, formats: write_texts(folder, new),
    )
    for nth in range(1, 100):
        write_texts(tmp_path / "report", old)
        disk = FailingDisk(nth, **way)
        with monkeypatch.context() as patches:
            patches.setattr("sampler_parity.harness.bundle.disk.os", disk)
            done = cli("report", "BUNDLE", "-o", tmp_path / "report")
        if not disk.reached:
            break
        for name in new:
            text = (tmp_path / "report" / name).read_text(encoding="utf-8")
            assert text in (old[name], new[name]), f"call {nth}"
        if done.returncode:
            assert "cannot write" in refused(done)
    assert nth > 8
    assert {name: (tmp_path / "report" / name).read_text() for name in new} == new
