"""wheels: a libllama from a Python package, checked against the wheel's record."""

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import build_files, builds, wheels
from tests.support.command_line import cli, refused

NAME = wheels.EXTENSIONS["xllamacpp"]


def wheel(folder: Path, data: bytes, recorded: bytes | None = None, name: str = NAME) -> Path:
    """A wheel whose record has the digest of `recorded`."""
    digest = hashlib.sha256(data if recorded is None else recorded).digest()
    row = f"{name},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},{len(data)}"
    path = folder / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, data)
        archive.writestr("a-1.dist-info/RECORD", f"{row}\na-1.dist-info/RECORD,,\n")
    return path


def test_an_extension_is_taken_where_the_record_says_what_it_is(tmp_path: Path) -> None:
    assert wheels.extension(wheel(tmp_path, b"library"), NAME) == b"library"


@pytest.mark.parametrize(
    ("recorded", "name", "problem"),
    [
        (b"other", NAME, "xllamacpp.abi3.so does not match its record"),
        (None, "xllamacpp/other.so", "holds no xllamacpp/xllamacpp.abi3.so"),
    ],
    ids=["changed", "missing"],
)
def test_a_wheel_that_is_not_what_its_record_says_is_refused(
    tmp_path: Path, recorded: bytes | None, name: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        wheels.extension(wheel(tmp_path, b"library", recorded, name), NAME)


def test_what_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.whl"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"made.whl: holds no"):
        wheels.extension(path, NAME)


def test_a_version_that_says_no_build_is_refused_before_anything_is_fetched() -> None:
    line = refused(cli("builds", "add", "xllamacpp@0.2.7"))
    assert line.endswith("does not report its release of llama.cpp - write one as 2026.10.11549")


def test_another_file_under_the_name_of_the_measured_wheel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = wheels.SHA256
    measured = wheel(tmp_path, b"library").rename(tmp_path / name)
    monkeypatch.setattr(wheels, "_download", lambda *_: measured)
    with pytest.raises(InputError, match="is not the wheel that was measured"):
        wheels.fetch("xllamacpp", "2026.10.11549", tmp_path)


def test_a_wheel_becomes_a_build_of_its_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is not a real one: it must not be checked before it is asked for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(wheels, "_download", lambda _, folder: wheel(folder, b"library"))
    monkeypatch.setattr(build_files, "check", lambda folder: folder / "libllama.so")
    build = builds.add("xllamacpp@2026.10.11549")
    assert (build.name, build.release) == ("b11549", "b11549")
    assert (Path(build.folder) / "libllama.so").read_bytes() == b"library"
