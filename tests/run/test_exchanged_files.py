"""A backend whose files are exchanged gives no result to a bundle that others began."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.info import SHORT
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import pool
from tests.support import environments, exchanged
from tests.support.command_line import Done, cli, refused
from tests.support.exchanged import CASES, cut_short, results, suite

Adapter = Callable[[Path], tuple[list[str], Path, Callable[[], object]]]


def run(folder: Path, command: list[str], *more: str, backend: str = "") -> Done:
    named = backend or f"mine={shlex.join(command)}"
    arguments = ("run", suite(folder), "-b", named, "-o", folder / "b", "-j", "1", "--json", "-")
    return cli(*arguments, *more)


def a_script(folder: Path) -> tuple[list[str], Path, Callable[[], object]]:
    path = folder / "adapter.py"
    command = exchanged.python_adapter(path)
    return command, path, lambda: exchanged.python_adapter(path, "time = 1")


def a_program(folder: Path) -> tuple[list[str], Path, Callable[[], object]]:
    path = folder / "adapter"
    command = exchanged.compiled_adapter(path, "one")
    return command, path, lambda: exchanged.compiled_adapter(path, "two")


def a_second_file(folder: Path) -> tuple[list[str], Path, Callable[[], object]]:
    command = exchanged.node_adapter(folder)
    path = folder / "lib/second.mjs"
    return command, path, lambda: path.write_text(path.read_text() + "// another\n")


def a_module(folder: Path) -> tuple[list[str], Path, Callable[[], object]]:
    python, *_ = exchanged.python_adapter(folder / "helper.py")
    first = folder / "first.py"
    first.write_text("import sys\nfrom helper import main\nmain()\n")
    path = folder / "helper.py"
    return [python, str(first)], path, lambda: exchanged.python_adapter(path, "time = 1")


ADAPTERS = [a_script, a_program, a_second_file, a_module]


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.slow
def test_exchanged_adapter_is_refused_on_resume(tmp_path: Path, adapter: Adapter) -> None:
    command, path, exchange = adapter(tmp_path)
    assert run(tmp_path, command).returncode in (0, 1)
    cut_short(tmp_path / "b")
    kept = (tmp_path / "b/results.jsonl").read_bytes()
    before = path.read_bytes()
    exchange()

    line = refused(run(tmp_path, command, "--resume"))

    assert f"mine has another {path}: sha256 " in line
    assert "put it back, or run again without --resume, to another -o" in line
    assert (tmp_path / "b/results.jsonl").read_bytes() == kept
    path.write_bytes(before)
    assert run(tmp_path, command, "--resume").returncode in (0, 1)
    assert len(bundle.read_finished(tmp_path / "b").cases) == CASES


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.slow
def test_adapter_exchanged_without_a_restart_leaves_no_finished_bundle(
    tmp_path: Path, adapter: Adapter
) -> None:
    command, path, _ = adapter(tmp_path)
    edit = f"done == 4 and open({str(path)!r}, 'ab').write(b' ')"
    counting = exchanged.python_adapter(tmp_path / "counting.py", edit)
    wrapped = ["env", *counting, "--", *command]  # the adapter's files are named, so bound

    line = refused(run(tmp_path, wrapped))

    assert line.startswith(f"sampler-parity: {path}: changed during the run of mine: sha256 ")
    assert "put it back and run with --resume, or run again to another -o" in line
    with pytest.raises(InputError, match="no footer"):
        bundle.read_finished(tmp_path / "b")


@pytest.mark.slow
def test_adapter_exchanged_before_a_restart_ends_the_run_and_keeps_results(tmp_path: Path) -> None:
    path = tmp_path / "adapter.py"
    edit = f"done == 4 and (open({str(path)!r}, 'a').write('#'), sys.stdin.close(), 1 / 0)"
    command = exchanged.python_adapter(path, edit)
    before = path.read_bytes()

    line = refused(run(tmp_path, command))

    assert line.startswith(f"sampler-parity: {path}: changed during the run of mine: sha256 ")
    kept = results(tmp_path / "b")
    assert 0 < len(kept) < CASES
    path.write_bytes(before)
    assert run(tmp_path, command, "--resume").returncode in (0, 1, 2)
    assert [r["id"] for r in results(tmp_path / "b")][: len(kept)] == [r["id"] for r in kept]


FAKE = Environment(name="fake", kind="python", needs=["fake==1"])


@pytest.mark.slow
def test_edited_package_of_an_engine_is_refused_on_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "start_method", lambda: "fork")  # with this environment
    environments.only(monkeypatch, tmp_path, {"fake": FAKE}, null="fake")
    packages = environments.place(FAKE) / "lib/python3.11/site-packages"
    module = packages / "engine/core.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n")
    (packages / "engine/other.py").write_text("y = 1\n")
    assert run(tmp_path, [], backend="null").returncode == 1
    (info,) = bundle.read_info(tmp_path / "b").backends.values()
    (folder,) = (file for file in info.files if file.files)
    assert (folder.path, folder.files, folder.size) == (str(packages), 2, 12)
    cut_short(tmp_path / "b")
    module.write_text("x = 2\n")
    line = refused(run(tmp_path, [], "--resume", backend="null"))
    assert f"null has another {module}: sha256 " in line


@pytest.mark.slow
def test_every_result_has_the_digest_of_the_run_and_another_is_refused(tmp_path: Path) -> None:
    command, path, _ = a_script(tmp_path)
    run(tmp_path, command)
    info = bundle.read_info(tmp_path / "b").backends["mine"]
    assert str(path) in [file.path for file in info.files]
    assert {json.dumps(r["digests"]) for r in results(tmp_path / "b")} == {
        json.dumps({"mine": info.digest[:SHORT]})
    }
    cut_short(tmp_path / "b")  # the footer, whose digest would differ
    lines = (tmp_path / "b/results.jsonl").read_text()
    (tmp_path / "b/results.jsonl").write_text(lines.replace(info.digest[:SHORT], "0" * SHORT, 1))
    with pytest.raises(InputError, match="was recorded with other files of mine than run"):
        bundle.read(tmp_path / "b")
