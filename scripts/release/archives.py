"""Wheel and source archive with the same bytes on every machine.

They are built from a copy of the files that git tracks, and of tsampler's JavaScript: no other file
of a checkout gets in. Everything that would differ from build to build is fixed: times by
SOURCE_DATE_EPOCH, modes of files, and the order and the owners of the source archive, for which
setuptools has no rule.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

TSAMPLER = "engines/tsampler"
FIRST_ZIP = 315_532_800  # 1980-01-01: a ZIP holds no earlier time


def built(root: Path, folder: Path, epoch: int, way: str) -> Path:
    """Build both archives and return their folder.

    way: "from the archive" builds the wheel from the source archive's own files; "apart" builds
    each from the checkout, as a machine with another clock, zone and hashes.
    """
    source, archives = folder / "source", folder / "archives"
    copy(root, source)
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(max(epoch, FIRST_ZIP))}
    options = []
    if way == "apart":
        environment |= {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "1"}
        options = ["--sdist", "--wheel"]
        for path in source.rglob("*"):
            os.utime(path, (epoch + 1_000_000, epoch + 1_000_000))
    command = [sys.executable, "-m", "build", "--no-isolation", *options]
    done = subprocess.run(
        [*command, "--outdir", str(archives), str(source)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        umask=0o022,
    )
    if done.returncode:
        sys.exit(f"the build ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    for archive in archives.glob("*.tar.gz"):
        archive.write_bytes(settled(archive.read_bytes(), epoch))
    return archives


def copy(root: Path, folder: Path) -> None:
    """Copy the files that git tracks, and the compiled JavaScript, with plain modes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, encoding="utf-8", check=True
    ).stdout
    names = [name for name in listed.split("\0") if name]
    sources = [name for name in names if name.startswith(f"{TSAMPLER}/src/")]
    compiled = [name.replace("/src/", "/dist/")[:-3] + ".js" for name in sources]
    for name in [*names, *compiled]:
        path = folder / name
        if (root / name).is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, path)
            path.chmod(0o755 if os.access(root / name, os.X_OK) else 0o644)


def settled(archive: bytes, epoch: int) -> bytes:
    """Return the archive with its members sorted by name, with one time and no owner."""
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as members,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        for member in sorted(members.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            out.addfile(member, members.extractfile(member) if member.isfile() else None)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=epoch) as out_gz:
        out_gz.write(plain.getvalue())
    return packed.getvalue()


def differences(first: Path, second: Path) -> list[str]:
    """Return a line for each archive whose bytes differ, with the first member that does."""
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
    lines = []
    for name in names:
        if not (first / name).is_file() or not (second / name).is_file():
            lines.append(f"{name}: made by one of two builds alone")
        elif (first / name).read_bytes() != (second / name).read_bytes():
            lines.append(f"{name}: two builds differ: {_where(first / name, second / name)}")
    return lines


def _where(first: Path, second: Path) -> str:
    one, other = contents(first), contents(second)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            return name
    return "in order, times or modes"


def contents(archive: Path) -> dict[str, str]:
    """Return the digest of every file in an archive, by its name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as members:
            return {n: _digest(members.read(n)) for n in members.namelist() if n[-1:] != "/"}
    with tarfile.open(archive) as members_of_tar:
        files = [(m.name, members_of_tar.extractfile(m)) for m in members_of_tar if m.isfile()]
        return {name: _digest(file.read()) for name, file in files if file is not None}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
