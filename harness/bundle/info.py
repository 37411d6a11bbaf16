"""run.json: what was run, with what backends, on what machine."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sampler_parity.harness.strict import Strict
from sampler_parity.reference.meaning import joined, parted


def _meaning(name: str) -> str:
    return joined(*parted(name))  # raises ChainError, a ValueError


class BackendInfo(Strict):
    command: list[str]
    name: str = ""
    version: str = ""
    build: str = ""
    device: str = ""
    platform: str = Field(default="", description="that it says its build is for")
    capabilities: list[str] = []
    unavailable: str = ""
    reference: Annotated[str, AfterValidator(_meaning)] = Field(
        default="v0.5.0",
        description="the release, of another platform with its name, that it is judged by",
    )
    libraries: dict[str, str] = Field(default={}, description="llama.cpp's, with their SHA-256")
    sandbox: bool = Field(default=False, description="whether it ran in a sandbox")


class Machine(Strict):
    """libm: the file that is loaded, with the start of its digest. driver: of an NVIDIA GPU. code,
    suites: digests of sampler-parity's own files; empty in bundles of older versions."""

    system: str
    machine: str
    cpu: str
    cpu_flags: list[str]
    cores: int
    memory_bytes: int
    libc: str
    libm: str = ""
    driver: str = ""
    python: str
    packages: dict[str, str]
    code: str = ""
    suites: str = ""

    def configuration(self) -> dict[str, Any]:
        """What may change a result. Hosts of one kind differ in the rest, and of the suites a run
        states its own."""
        return self.model_dump(exclude={"memory_bytes", "cores", "system", "suites"})


class RunInfo(Strict):
    """run.json: what was run, with what, on what, when.

    only: the cases that it was limited to. options: of the command line, those that results depend
    on. paths: of the suites that were given as files, where they lie.
    """

    format: Literal[1] = 1
    version: str
    started: str
    command: list[str]
    suites: dict[str, str]
    profile: str
    seed: int
    only: list[str] = []
    options: dict[str, str] = {}
    paths: dict[str, str] = {}
    backends: dict[str, BackendInfo]
    machine: Machine
