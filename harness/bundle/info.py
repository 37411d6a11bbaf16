"""run.json: what was run, with what backends, on what machine."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sampler_parity.harness.strict import Strict
from sampler_parity.reference.meaning import joined, parted


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
