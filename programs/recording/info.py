"""recording.json: what was recorded, on what machine, and the digests of the finished files."""

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from sampler_parity.harness.bundle.disk import write_whole
from sampler_parity.harness.bundle.info import MachineInfo
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, sha256_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Strict, first_mistake
from sampler_parity.programs.recording.detail import Detail
from sampler_parity.programs.recording.segments import is_alive

NAME = "recording.json"


class RecordingInfo(Strict):
    """recording.json. files: the SHA-256 of each. chain: that of all their lines `NAME SHA256`, in
    order; both are empty while the program runs, and after a kill."""

    format: Literal[1] = 1
    """version of the format"""
    version: str
    """version of sampler-parity"""
    command: list[str]
    """the program and its arguments"""
    detail: Detail
    """what was recorded of each token"""
    text: bool
    """whether the vocabulary is there"""
    started: str
    """start of the program"""
    ended: str = ""
    """its end"""
    status: int | None = None
    """its exit status; below 0: the signal that ended it"""
    machine: MachineInfo
    """the machine"""
    files: dict[str, str] = Field(default={})
    """SHA-256 of the finished files"""
    chain: str = ""
    """SHA-256 of all lines of `files`"""

    def write(self, folder: Path) -> None:
        """Write it. Raises OSError."""
        text = self.model_dump_json(indent=1) + "\n"
        write_whole(folder / NAME, text.encode())

    def sealed(self, folder: Path) -> "RecordingInfo":
        """Return it with the digests of all finished files of a recording."""
        paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != NAME)
        names = [path.name for path in paths if not is_alive(path.name)]
        files = {name: sha256_of(folder / name) for name in names}
        return self.model_copy(update={"files": files, "chain": chain_of(files)})


def chain_of(files: dict[str, str]) -> str:
    """Return the SHA-256 of all lines."""
    lines = "".join(f"{name} {digest}\n" for name, digest in files.items())
    return hashlib.sha256(lines.encode()).hexdigest()


def info_of(folder: Path) -> RecordingInfo | None:
    """Return recording.json; None if there is none. Raises InputError."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        return RecordingInfo.model_validate_json(read_file(path, limits.RUN_JSON))
    except ValidationError as error:
        raise InputError(path, first_mistake(error)) from None


def changed(folder: Path, info: RecordingInfo) -> list[str]:
    """Return the files of a sealed recording that changed since."""
    if info.chain != chain_of(info.files):
        return [NAME]
    return [
        name
        for name, digest in info.files.items()
        if not (folder / name).is_file() or sha256_of(folder / name) != digest
    ]
