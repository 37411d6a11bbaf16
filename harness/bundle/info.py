"""run.json: what was run, with what backends, on what machine; the header and the footer of
results.jsonl; the digest of a backend's files, and the first that changed."""

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sampler_parity.harness.strict import Strict
from sampler_parity.reference.chronology import joined, parted


def _meaning(name: str) -> str:
    return joined(*parted(name))  # raises ChainError, a ValueError


RECORDING = "recording"
"""The suite of the cases that `check` makes of a recording."""


class FileInfo(Strict):
    """A file that a backend is made of, or a folder of such files."""

    path: str
    """its place, without symbolic links"""
    size: int
    """bytes"""
    sha256: str
    """SHA-256 of its content, of a folder that of the list of its files; empty if unreadable"""
    files: int = 0
    """number of files of a folder; 0 for a file"""


class BackendInfo(Strict):
    command: list[str]
    """the command that started it; empty for a backend of our own"""
    name: str = ""
    """name of the implementation"""
    version: str = ""
    """version of the implementation"""
    build: str = ""
    """build of the implementation"""
    device: str = ""
    """device that it computed on"""
    platform: str = Field(default="", description="that it reports for its build")
    """platform that its build is for, as it reports"""
    capabilities: list[str] = []
    """requests and options that it supports"""
    random: str = "mt19937"
    """its random numbers: those of llama.cpp for each seed, or `own`"""
    unavailable: str = ""
    """why it did not run; empty if it ran"""
    reference: Annotated[str, AfterValidator(_meaning)] = Field(
        default="v0.5.0",
        description="the release, of another platform with its name, that it is judged by",
    )
    libraries: dict[str, str] = Field(default={}, description="llama.cpp's, with their SHA-256")
    sandbox: bool = Field(default=False, description="whether it ran in a sandbox")
    files: list[FileInfo] = []
    """the files that it is made of"""
    digest: str = ""
    """SHA-256 of the names, sizes and digests of `files`"""


class MachineInfo(Strict):
    """libm: the file that is loaded, with the start of its digest. driver: of an NVIDIA GPU. code,
    suites: digests of sampler-parity's own files; empty in bundles of older versions."""

    system: str
    """operating system"""
    machine: str
    """architecture"""
    cpu: str
    """processor"""
    cpu_flags: list[str]
    """instruction sets of the processor"""
    cores: int
    """number of cores"""
    memory_bytes: int
    """memory"""
    libc: str
    """C library"""
    libm: str = ""
    """file of the mathematical library, with the start of its digest"""
    driver: str = ""
    """driver of an NVIDIA GPU"""
    python: str
    """version of Python"""
    packages: dict[str, str]
    """versions of the packages"""
    code: str = ""
    """digest of sampler-parity's code"""
    suites: str = ""
    """digest of sampler-parity's own suites"""

    def configuration(self) -> dict[str, Any]:
        """Return all that may change a result. Other fields differ among hosts of one kind, and a
        run states the digests of its suites itself."""
        return self.model_dump(exclude={"memory_bytes", "cores", "system", "suites"})


class RunInfo(Strict):
    """run.json: what was run, with what, on what, when.

    only: the cases that it was limited to. options: of the command line, those that results depend
    on. paths: of the suites that were given as files, where they lie.
    """

    format: Literal[1] = 1
    """version of the format"""
    version: str
    """version of sampler-parity"""
    started: str
    """start of the run"""
    command: list[str]
    """command line of the run"""
    suites: dict[str, str]
    """digest of each suite file"""
    profile: str
    """`quick` or `full`"""
    seed: int
    only: list[str] = []
    """patterns of `--case`"""
    options: dict[str, str] = {}
    """options that results depend on"""
    paths: dict[str, str] = {}
    """paths of suites that were given as files"""
    backends: dict[str, BackendInfo]
    """the backends of the run"""
    machine: MachineInfo
    """the machine of the run"""


class Header(Strict):
    kind: Literal["header"] = "header"
    format: Literal[1] = 1
    """version of the format"""


class Footer(Strict):
    """The last line of a finished run. A bundle without it is unfinished."""

    kind: Literal["footer"] = "footer"
    cases: int
    """number of cases"""
    steps: int
    """number of steps"""
    wall_s: float
    cells: int = 0
    """number of distribution tests"""
    skip_ratios: int = 0
    """number of workloads"""
    records: dict[str, int] = {}
    """number of records by kind"""
    sha256: str = ""
    """SHA-256 of all bytes before this line"""
    run_sha256: str = ""
    """SHA-256 of `run.json`"""


SHORT = 12  # digits of a digest in a result


def digest_of(files: Sequence[FileInfo]) -> str:
    """Return one digest of files by name, size and content; "" of none. Their folders do not count,
    so that another machine has the same."""
    if not files:
        return ""
    lines = sorted(f"{file.sha256} {file.size} {PurePath(file.path).name}\n" for file in files)
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def first_change(
    old: Sequence[FileInfo], new: Sequence[FileInfo], words: Collection[str] = ()
) -> tuple[FileInfo | None, FileInfo | None] | None:
    """Return the first file that differs, then and now; None for one that is not there.

    words: those of the command. A new file that only a word names is no change: the backend may
    have written it.
    """
    then, now = ({file.path: file for file in files} for files in (old, new))
    for path in sorted(then.keys() | now.keys()):
        before, after = then.get(path), now.get(path)
        written = before is None and any(path.endswith(PurePath(word).name) for word in words)
        if before != after and not written:
            return before, after
    return None


def described(
    then: FileInfo | None, now: FileInfo | None, inside: Callable[[Path], str]
) -> tuple[str, str]:
    """Return the path of a change, and its digests in words. inside: returns the file of a folder
    that changed, or "" if that is not known."""
    file = then or now
    assert file is not None
    name = inside(Path(file.path)) if then and now and file.files else ""
    digests = [info.sha256[:SHORT] or "unreadable" if info else "none" for info in (then, now)]
    where = os.path.join(file.path, name) if name else file.path
    return where, f"sha256 {digests[0]} then, {digests[1]} now"
