"""Programs that cannot be recorded are refused in one line, with what to do instead."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording import executable, program
from tests.support.command_line import cli, refused

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, `static` and `dynamic`."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "a.cpp").write_text("int main() {}\n")
    for name, options in {"static": ["-static"], "dynamic": []}.items():
        command = ["c++", str(folder / "a.cpp"), "-o", str(folder / name), *options]
        subprocess.run(command, check=True)
    return folder


def edited(folder: Path, name: str, old: bytes, new: bytes) -> Path:
    """Return a copy of the dynamic program with other bytes."""
    content = (folder / "dynamic").read_bytes()
    assert old in content
    (folder / name).write_bytes(content.replace(old, new.ljust(len(old), b"\0"), 1))
    (folder / name).chmod(0o755)
    return folder / name


def script(folder: Path, line: str) -> Path:
    path = folder / f"script-{abs(hash(line))}"
    path.write_text(f"#!{line}\n")
    path.chmod(0o755)
    return path


@pytest.mark.slow
def test_a_dynamic_program_and_its_scripts_can_be_recorded(folder: Path) -> None:
    for path in (
        folder / "dynamic",
        script(folder, f"{folder}/dynamic -x"),
        script(folder, "/usr/bin/env -S A=1 sh -e"),
        script(folder, ""),
    ):
        assert executable.why_not(path) is None


def test_a_static_program_is_refused_with_how_to_build_it(folder: Path) -> None:
    for path in (folder / "static", script(folder, f"{folder}/static -x")):
        assert refused(cli("record", "-o", folder / "r", "--", path)) == (
            f"sampler-parity: {path}: is linked statically: no recorder can be put into it -"
            " build it with BUILD_SHARED_LIBS=ON"
        )
    assert not (folder / "r").exists()


def test_a_program_of_musl_is_refused(folder: Path) -> None:
    loader = b"/lib64/ld-linux-x86-64.so.2"
    if loader not in (folder / "dynamic").read_bytes():
        pytest.skip("unavailable: the machine is no x86-64")
    path = edited(folder, "musl", loader, b"/lib/ld-musl-x86_64.so.1")
    with pytest.raises(InputError, match="musl, the recorder with glibc - build it on a system wi"):
        program.check([str(path)])


def test_a_program_of_another_machine_is_refused(folder: Path) -> None:
    path = edited(folder, "of 32 bits", b"\x7fELF\x02", b"\x7fELF\x01")
    with pytest.raises(InputError, match="is for another kind of machine"):
        program.check([str(path)])


def test_a_setuid_program_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "setuid"
    shutil.copy(folder / "dynamic", path)
    path.chmod(0o4755)
    assert executable.why_not(path) is None  # ours
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(InputError, match="is setuid: Linux preloads nothing into it - run a copy"):
        program.check([str(path)])


@pytest.mark.parametrize("table", [b"\xff" * 8, b"\0" * 8], ids=["far away", "at the start"])
def test_a_damaged_program_is_no_defect(folder: Path, table: bytes) -> None:
    content = bytearray((folder / "dynamic").read_bytes())
    content[32:40] = table
    (folder / "damaged").write_bytes(content)
    (folder / "damaged").chmod(0o755)
    with suppress(InputError):
        program.check([str(folder / "damaged")])


@pytest.mark.parametrize(("system", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_another_system_is_refused_with_what_to_use(
    monkeypatch: pytest.MonkeyPatch, system: str, name: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(InputError) as error:
        program.check(["python"])
    assert str(error.value) == (
        f"record: cannot intercept libllama on {name} - run the program in a"
        " Linux container, or record on Linux and check here"
    )


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = refused(cli("record", "-o", tmp_path / "r", "--", "no-such-program"))
    assert done == "sampler-parity: no-such-program: is not an executable program - check its path"
    assert not (tmp_path / "r").exists()
