"""Environments of engines: how one is found, started, and reported as missing."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from sampler_parity.harness.backends import environments, installing, registry
from sampler_parity.harness.backends.environments import Record, folder_of
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.errors import InputError
from tests.support.alive import until
from tests.support.environments import only, place

ROW = Environment(name="theirs", kind="python", needs=["theirs==1.2", "numpy==2.4.6"])
RECORD = "environment.json"
NODE = Environment(name="script", kind="node", needs=["@they/script@3.4.5"])


@pytest.fixture(autouse=True)
def _rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, tmp_path, {"theirs": ROW, "script": NODE}, null="theirs")


def test_an_environment_that_is_not_there_is_reported_with_the_command_that_adds_it() -> None:
    assert environments.missing("theirs") == "sampler-parity engines add theirs"
    assert environments.missing("theirs", "2.0") == "sampler-parity engines add theirs==2.0"
    assert registry.inspect("null").unavailable == "sampler-parity engines add theirs"
    assert registry.inspect("null@2.0").unavailable == "sampler-parity engines add theirs==2.0"


@pytest.mark.slow
def test_a_worker_runs_in_its_environment_and_sees_of_ours_only_sampler_parity() -> None:
    place(ROW)
    info = registry.inspect("null")
    assert not info.unavailable, info
    assert info.command[:6] == ["sampler-parity", "engines", "exec", "theirs", "--", "python"]
    assert (info.name, info.build) == ("null", "packages sha256 e3b0c44298fc")  # of none


def test_another_version_is_an_environment_next_to_the_pinned_one() -> None:
    place(ROW, version="2.0")
    assert environments.missing("theirs")
    assert not environments.missing("theirs", "2.0")
    (python, *_) = registry.command_of("null@2.0")[1]
    assert python == str(environments.python_of(folder_of("theirs", "2.0")))


def _python_is_gone(folder: Path) -> None:
    python = environments.python_of(folder)
    python.unlink()
    python.symlink_to("/nowhere/python")


def _record(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / RECORD).write_text(text)


def _endless(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        (folder / RECORD).unlink()
        make(folder / RECORD)

    return replace


ADD = "sampler-parity engines add theirs"
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no record": (lambda folder: (folder / RECORD).unlink(), f"^{ADD}$"),
    "other pins": (
        lambda _: ROW.locked.write_text("theirs==1.2 --hash=sha256:another\n"),
        f"^its pinned packages have changed: {ADD}$",
    ),
    "no python": (_python_is_gone, f"^the Python that it was made with is gone: {ADD}$"),
    "half a record": (
        _record("{"),
        r"environment\.json: is not a record of an environment - remove its folder$",
    ),
    "a record of 1 MiB": (_record(" " * (1 << 20) + "{}"), "has more than 1 MiB"),
    "a pipe": (_endless(os.mkfifo), "it is not a regular file"),
    "a device": (_endless(lambda path: path.symlink_to("/dev/zero")), "it is not a regular file"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_environment_is_reported_in_one_line(
    damage: Callable[[Path], object], message: str
) -> None:
    damage(place(ROW))
    assert re.search(message, environments.missing("theirs"))


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_a_record_without_an_end_is_left_out_of_the_list(kind: str) -> None:
    DAMAGED[kind][0](place(ROW))
    assert list(environments.records()) == []


def test_removing_a_linked_environment_leaves_what_it_leads_to(tmp_path: Path) -> None:
    folder = place(ROW)
    elsewhere = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(elsewhere)
    assert installing.remove("theirs") == [folder]
    assert not folder.is_symlink()
    assert (elsewhere / RECORD).exists()


@pytest.mark.slow
def test_what_installs_ends_with_us_if_we_are_killed(tmp_path: Path) -> None:
    slow = script_of(
        tmp_path, f"open({str(tmp_path / 'begun')!r}, 'w'); import time; time.sleep(60)"
    )
    installs = (
        "import pathlib, sys; from sampler_parity.harness.backends import installing;"
        "installing._run([sys.argv[1]], pathlib.Path(sys.argv[2]), 'pip')"
    )
    run = subprocess.Popen([sys.executable, "-c", installs, slow, str(tmp_path)])
    until((tmp_path / "begun").exists)
    run.kill()
    run.wait()
    until(lambda: not running(slow))


def script_of(folder: Path, program: str) -> str:
    """Write an executable Python script; return its path."""
    path = folder / "script"
    path.write_text(f"#!{sys.executable}\n{program}\n")
    path.chmod(0o755)
    return str(path)


def running(script: str) -> bool:
    return subprocess.run(["pgrep", "-f", script], capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_worker_imports_the_standard_library_numpy_and_pydantic_alone() -> None:
    """All modules that are loaded before an engine: other packages of ours may be missing there."""
    code = (
        "import sys; sys.argv[1:] = ['null']\n"
        "from sampler_parity.harness.backends import worker\n"
        "import sampler_parity.harness.protocol.serve\n"
        "worker.worker()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    allowed = {"numpy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
    allowed |= {"typing_inspection", "sampler_parity", "__main__", *sys.stdlib_module_names}
    others = [name for name in done.stdout.split() if name not in allowed]
    assert [name for name in others if not name.startswith(("_", "sitecustomize"))] == []


@pytest.mark.slow
def test_an_adapter_for_node_finds_the_packages_of_its_environment(tmp_path: Path) -> None:
    folder = place(NODE)
    package = folder / "node_modules" / "they"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "they", "main": "main.js"}')
    (package / "main.js").write_text("module.exports = 42;")
    adapter = tmp_path / "adapter.mjs"
    adapter.write_text("import they from 'they'; console.log(they, process.argv[2]);")
    words = environments.command("script", "", ("node", str(adapter), "{environment}/x"))
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout == f"42 {folder.as_posix()}/x\n", done.stderr


def test_a_bad_name_or_version_is_one_line() -> None:
    with pytest.raises(InputError, match=r"engine 'nobody': unknown - use theirs, script"):
        installing.parsed("nobody")
    with pytest.raises(InputError, match=r"theirs==: invalid version - write one as theirs==1\.2"):
        installing.parsed("theirs==")
    assert installing.parsed("theirs") == (ROW, "1.2")
    assert installing.parsed("theirs==2.0rc1") == (ROW, "2.0rc1")


def test_what_was_installed_cut_short_is_gone_and_the_reason_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = "import sys; sys.exit('ERROR: a\\nERROR: no space left')"
    monkeypatch.setattr(sys, "executable", script_of(tmp_path, fails))
    with pytest.raises(InputError, match=r"^theirs-1\.2: venv cannot install it: no space left$"):
        installing.add("theirs")
    assert not folder_of("theirs").exists()


def test_removing_takes_every_version_or_the_one_named() -> None:
    folders = [place(ROW), place(ROW, version="2.0"), place(ROW, version="2.1")]
    assert installing.remove("theirs==2.0") == [folders[1]]
    assert sorted(installing.remove("theirs")) == [folders[0], folders[2]]
    with pytest.raises(InputError, match="is not installed - see"):
        installing.remove("theirs")


def test_what_is_there_is_not_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    place(ROW)
    monkeypatch.setattr(installing, "_run", None)
    record, made = installing.add("theirs")
    assert isinstance(record, Record)
    assert not made


def test_of_two_that_install_at_once_one_waits_and_finds_it_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    begun, may_end = Event(), Event()

    def slowly(row: Environment, version: str, folder: Path, _begun: float) -> Record | None:
        begun.set()
        assert may_end.wait(10)
        made.append(version)
        return environments.record_of(place(row))

    ROW.locked.parent.mkdir(parents=True)
    ROW.locked.write_text("pins\n")
    monkeypatch.setattr(installing, "_made", slowly)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(installing.add, "theirs")
        assert begun.wait(10)
        second = threads.submit(installing.add, "theirs")
        may_end.set()
        assert (first.result()[1], second.result()[1], made) == (True, False, ["1.2"])
