"""Archives are unpacked inside their folder, on a Python without filters, too (before 3.11.4)."""

import io
import tarfile
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import extract


def unpacked(folder: Path, name: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Unpack an archive of one member and return the content of its file."""
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, 3 * (kind == tarfile.REGTYPE), "/etc/passwd"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(member, io.BytesIO(b"abc"))
    data.seek(0)
    with tarfile.open(fileobj=data) as tar:
        extract(tar, folder, list(tar))
    return (folder / name).read_bytes()


@pytest.fixture(params=["with filters", "without"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "without":
        monkeypatch.delattr(tarfile, "data_filter")
    return str(request.param)


def test_a_file_is_unpacked(python: str, tmp_path: Path) -> None:
    assert unpacked(tmp_path, "package/file") == b"abc", python


@pytest.mark.parametrize(
    ("name", "kind"), [("../outside", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)]
)
def test_what_leaves_the_folder_is_refused(
    python: str, tmp_path: Path, name: str, kind: bytes
) -> None:
    with pytest.raises((InputError, tarfile.TarError)):
        unpacked(tmp_path / python, name, kind)
