"""How a bundle is written: begun, gone on with, appended to, closed.

A chunk of records is on the disk itself when `append` returns, so a killed run or a machine that
fails loses at most the chunk being written; its torn last line is dropped when the run is resumed.

Who writes knows what it wrote: files that a backend changed meanwhile get a footer that refuses
them.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.artifacts import mend_of
from sampler_parity.harness.bundle.bundle import Result, check_run_json, read_info, records_of
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.ends import Footer, Header
from sampler_parity.harness.bundle.same_run import refuse_another
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import open_file
from sampler_parity.harness.protocol.messages import to_line

_HALF_A_PAIR = re.compile(r"""[^\s'"]*\\ud[89a-f][0-9a-f]{2}[^\s'"]*""")  # as repr shows it


@dataclass
class BundleWriter:
    """Appends to a bundle. done holds the ids that it already has (of a resumed run); run_sha256 is
    that of run.json, sha256 that of the records so far."""

    folder: Path
    info: RunInfo
    run_sha256: str
    sha256: Any = field(default_factory=hashlib.sha256)
    done: set[str] = field(default_factory=set)

    def append(self, *records: BaseModel) -> None:
        """Write records to the disk. Raises InputError where it cannot: then none of them is in."""
        path = self.folder / "results.jsonl"
        content = "".join(to_line(record) + "\n" for record in records).encode()
        try:
            disk.append(path, content)
        except OSError as error:
            raise cannot_write(path, error, mend_of(error)) from None
        self.sha256.update(content)

    def close(self, footer: Footer) -> Footer:
        """The footer as it is written: with the digests of what was written before it. Raises
        InputError where something else stands there: then the footer refuses it for ever."""
        sha256 = self.sha256.hexdigest()
        closed = footer.model_copy(update={"sha256": sha256, "run_sha256": self.run_sha256})
        changed = [
            self.folder / name
            for name, written in (("run.json", self.run_sha256), ("results.jsonl", sha256))
            if _digest(self.folder / name).hexdigest() != written
        ]
        self.append(closed)
        for path in changed:
            problem = "another program changed it while the run went: a backend, perhaps"
            raise InputError(path, problem, "run with --sandbox, to another -o")
        return closed


def create(folder: Path, info: RunInfo) -> BundleWriter:
    """A new bundle. Raises InputError where one already is, or the folder cannot be written."""
    if (folder / "results.jsonl").exists():
        raise InputError(folder, "holds a bundle already", "use --resume or another -o")
    about = _text_of(info)
    try:
        disk.make_folder(folder / "artifacts")
        disk.write_whole(folder / "run.json", about)
        header = (Header().model_dump_json() + "\n").encode()
        disk.write_whole(folder / "results.jsonl", header)  # with its header, or none
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    sha256 = hashlib.sha256(about).hexdigest()
    return BundleWriter(folder, info, sha256, hashlib.sha256(header))


def _text_of(info: RunInfo) -> bytes:
    """Raises InputError where a name in it, of a folder perhaps, is no UTF-8."""
    try:
        return (info.model_dump_json(indent=2) + "\n").encode()
    except ValueError:
        name = _HALF_A_PAIR.search(repr(info.model_dump()))
        where = name[0] if name else "a name"
        raise InputError(where, "is no UTF-8, which a bundle is written in", "rename it") from None


def resume(folder: Path, info: RunInfo) -> BundleWriter:
    """Go on with an unfinished bundle; a torn last line is cut off.

    Raises InputError if it is another run, by its options, suites, backends or machine.
    """
    old = read_info(folder)
    refuse_another(folder, old, info)
    path = folder / "results.jsonl"
    good = 0
    done: set[str] = set()
    for end, record in records_of(path, torn_ok=True):
        if isinstance(record, Footer):
            check_run_json(folder, record)
            break
        if isinstance(record, Result):
            done.add(record.id)
        good = end
    try:
        disk.cut(path, good)
    except OSError as error:
        raise cannot_write(path, error, mend_of(error)) from None
    about = _digest(folder / "run.json").hexdigest()
    return BundleWriter(folder, old, about, _digest(path), done)


def _digest(path: Path) -> Any:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256")
