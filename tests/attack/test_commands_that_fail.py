"""Each call that changes a file fails in turn, for the commands that write outside a bundle.

The command ends with exit status 2 and one line. It leaves what was there before, or all of the
new, and nothing locked: the same command then succeeds. `history add` has
test_history_cut_short.py, and bundles have test_writes_that_fail.py.
"""

import errno
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends import environments, installing
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp.platforms import make
from tests.support.command_line import Done, cli
from tests.support.environments import only, place
from tests.support.failing_system import FailingSystem, failing_system

WAYS: dict[str, tuple[int, bool]] = {
    "ENOSPC": (errno.ENOSPC, False),
    "ENOSPC for ever": (errno.ENOSPC, True),
    "EROFS for ever": (errno.EROFS, True),
}
ROW = Environment(name="toy", kind="python", needs=["toy==1.0"])


def each_failure(
    folder: Path,
    way: str,
    before: Callable[[], object],
    command: Callable[[], Done],
    lines: int = 1,
) -> Iterator[Done]:
    """Yield the commands whose n-th call failed, until one makes fewer than n calls. lines: what a
    refusal prints at most."""
    error, for_ever = WAYS[way]
    for nth in range(1, 500):
        before()
        with failing_system(FailingSystem(folder, nth, error, for_ever)) as system:
            done = command()
        if not system.reached:
            assert done.returncode == 0, done.stderr
            assert nth > 4
            return
        if done.returncode:
            assert done.returncode == 2
            assert done.stderr.splitlines()[-1].startswith("sampler-parity: "), system.made[-1]
            assert len(done.stderr.splitlines()) <= lines, done.stderr
        yield done
    raise AssertionError("no end")


def emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    only(monkeypatch, tmp_path, {"toy": ROW})
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked/toy").write_text("toy==1.0\n")

    def installed(command: list[str], folder: Path, what: str) -> None:
        """Write as pip does, which is another process. A full disk is its error, too."""
        try:
            python = environments.python_of(folder)
            python.parent.mkdir(parents=True, exist_ok=True)
            python.write_text("#!/bin/sh\n")
            if what == "pip":
                Path(command[command.index("--report") + 1]).write_text('{"install": []}')
        except OSError as error:
            raise InputError(folder.name, f"{what} cannot install it: {error}") from None

    monkeypatch.setattr(installing, "_run", installed)
    return tmp_path / "cache"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_engines_add_that_fails_leaves_no_half_environment(cache: Path, way: str) -> None:
    def command() -> Done:
        return cli("engines", "add", "toy")

    for done in each_failure(cache, way, lambda: emptied(cache), command):
        record = environments.record_of(environments.folder_of("toy"))
        assert (record is None) == (done.returncode != 0)
        assert command().returncode == 0
        assert environments.missing("toy") == ""


@pytest.mark.parametrize("way", WAYS)
def test_engines_remove_that_fails_can_be_repeated(cache: Path, way: str) -> None:
    def before() -> None:
        emptied(cache)
        place(ROW)

    def command() -> Done:
        return cli("engines", "remove", "toy")

    for done in each_failure(cache, way, before, command):
        folder = environments.folder_of("toy")
        if done.returncode == 0:
            assert not folder.exists()
            continue
        whole = environments.record_of(folder) is not None
        assert not whole or environments.python_of(folder).exists(), "a record of a half"
        assert command().returncode == 0
        assert not folder.exists()


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A recipe `toy`, which compiles nothing. Return the content that it writes by name."""
    made = {"worker": b"new", "libtoy.so": b"new library"}
    there: dict[str, Any] = {"compiler": ("sh",), "c_compiler": "sh", "program": "worker"}
    toy = next(iter(make.made().values())).model_copy(update=there)
    monkeypatch.setattr(make, "made", lambda: {"toy": toy})

    def compiled(_recipe: Any, folder: Path) -> None:
        for name, content in made.items():
            (folder / name).write_bytes(content)

    monkeypatch.setattr(make, "compile_alone", compiled)
    return made


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "build.json"}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["nothing", "an earlier build"])
def test_builds_make_that_fails_keeps_the_earlier_build(
    cache: Path, recipe: dict[str, bytes], state: str, way: str
) -> None:
    def command() -> Done:
        return cli("builds", "make", "toy")

    old, new = {"worker": b"old", "libold.so": b"old library"}, dict(recipe)

    def before() -> None:
        emptied(cache)
        if state != "nothing":
            recipe.clear()
            recipe.update(old)
            assert command().returncode == 0
        recipe.clear()
        recipe.update(new)

    for done in each_failure(cache, way, before, command):
        folder = recorded.builds_folder() / "toy"
        aside = folder.parent / ".toy/old"  # while the disk stays full, it cannot be put back
        if state == "nothing" and done.returncode:
            assert not folder.exists()
        elif aside.exists() and not folder.exists():
            assert WAYS[way][1]
            assert content_of(aside) == old
        else:
            assert content_of(folder) in ((new,) if done.returncode == 0 else (old, new))
            assert recorded.find("toy") is not None
        assert command().returncode == 0
        assert content_of(folder) == new
        assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["toy"]


def whole(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix != ".part"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="record is of Linux")
@pytest.mark.parametrize("way", WAYS)
def test_a_recording_that_cannot_begin_leaves_no_folder(tmp_path: Path, way: str) -> None:
    """A disk that stays full keeps an empty folder, or a part of the first file.

    A second line reports that texts are recorded.
    """
    folder = tmp_path / "r"
    program = shutil.which("true") or ""

    def command() -> Done:
        return cli("record", "-o", folder, "--", program)

    refusals = 0
    for done in each_failure(folder, way, lambda: emptied(folder), command, 2):
        if done.returncode == 2 and "cannot write" in done.stderr:
            refusals += 1
            assert not folder.exists() or (WAYS[way][1] and whole(folder) == [])
    assert refusals >= 2
