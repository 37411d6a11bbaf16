"""An engine in its own environment that crashes, hangs, lacks a sampler, or changes its version.

Its Python is a script here, which speaks the protocol for it.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.backends import environments, registry
from sampler_parity.harness.backends.environments import folder_of
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.errors import ChangedFilesError
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.run import started
from sampler_parity.harness.run.judging import run_portion
from tests.support.cases import stages
from tests.support.environments import only, place

ROW = Environment(name="theirs", kind="python", needs=["theirs==1.2"])
TOP_K = stages([{"top_k": {"k": 2}}], [1.0, 3.0, 2.0], id="top_k/two")
# Greets with the version in the file next to the environment, then does this and no more.
SCRIPT = """
import json, os, sys, time
sys.stdin.readline()
greeting = json.loads({greeting!r}) | {{"version": open({version!r}).read()}}
print(json.dumps(greeting), flush=True)
for line in sys.stdin:
    {act}
"""


@pytest.fixture(autouse=True)
def _theirs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    only(monkeypatch, tmp_path, {"theirs": ROW}, theirs="theirs")
    monkeypatch.setattr(started, "_started", {})  # other tests' backends stay theirs
    yield
    for process in started._started.values():
        process.close()


def engine(act: str, samplers: tuple[str, ...] = ("top_k",)) -> Path:
    """The engine's environment, and the file with its version."""
    greeting = {"ok": True, "name": "theirs", "capabilities": ["run"], "samplers": samplers}
    version = environments.engines_folder().parent / "version"
    text = SCRIPT.format(greeting=json.dumps(greeting), version=str(version), act=act)
    place(ROW, python=f'exec "{sys.executable}" -S "$0.py"')
    Path(f"{environments.python_of(folder_of('theirs'))}.py").write_text(text)
    version.write_text("1.2")
    return version


def judged(timeout_s: float = 20.0, **versions: str) -> BackendResult:
    terms = Terms({"theirs": None}, timeout_s, versions=versions)
    (result,) = run_portion([CheckItem("s", TOP_K)], terms, None)
    assert isinstance(result, CaseResult)
    return result.backends["theirs"]


def test_an_engine_that_crashes_is_a_verdict_and_is_started_again() -> None:
    engine("sys.exit('segmentation fault')")
    for result in (judged(), judged()):
        assert (result.verdict, result.detail) == ("crashed", "exit status 1: segmentation fault")
    (process,) = started._started.values()
    assert process.starts == 2


def test_an_engine_that_becomes_another_version_is_a_verdict_that_names_both() -> None:
    version = engine("sys.exit('restart me')")
    assert judged().verdict == "crashed"
    version.write_text("1.3")
    assert judged().detail == "its version changed from 1.2 to 1.3"
    assert judged().detail == "its version changed from 1.2 to 1.3"  # and stays one


def test_a_process_of_a_run_must_say_the_version_that_the_run_began_with() -> None:
    engine("pass")
    result = judged(theirs="1.1")
    assert (result.verdict, result.detail) == ("crashed", "its version changed from 1.1 to 1.2")


def test_an_environment_that_is_removed_under_a_run_ends_the_run() -> None:
    engine("sys.exit(1)")
    judged()
    python = environments.python_of(folder_of("theirs"))
    python.unlink()
    changed = f"{re.escape(str(python))}: changed.*, unreadable now"
    with pytest.raises(ChangedFilesError, match=changed):
        judged()


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("exit 3", "exit status 3"),
        ("echo 'ImportError: libtorch.so: cannot open' >&2; exit 1", "libtorch.so: cannot open"),
    ],
    ids=["ends", "cannot be imported"],
)
def test_an_engine_that_does_not_start_is_unavailable_with_its_crash_output(
    python: str, message: str
) -> None:
    place(ROW, python=python)
    assert message in registry.inspect("theirs").unavailable


@pytest.mark.slow
def test_an_engine_that_does_not_greet_in_time_is_unavailable() -> None:
    place(ROW, python="sleep 60")
    process = registry.start("theirs")
    process.start_timeout_s = 0.3
    with pytest.raises(BackendFailure) as failed:
        process.hello()
    assert failed.value.verdict == "timeout"
    process.close()
