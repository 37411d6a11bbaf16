"""How a bundle is written: begun, gone on with, appended to, closed.

A chunk of records is on the disk itself when `append` returns, so a killed run or a machine that
fails loses at most the chunk being written; its torn last line is dropped when the run is resumed.
"""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.artifacts import FREE_SPACE
from sampler_parity.harness.bundle.bundle import Result, read_info, records_of
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.ends import Footer, Header
from sampler_parity.harness.bundle.same_run import refuse_another
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.protocol.messages import to_line


@dataclass
class BundleWriter:
    """Appends to a bundle. done holds the ids that it already has (of a resumed run)."""

    folder: Path
    info: RunInfo
    done: set[str] = field(default_factory=set)

    def append(self, *records: BaseModel) -> None:
        """Write records to the disk. Raises InputError where it cannot: then none of them is in."""
        path = self.folder / "results.jsonl"
        try:
            disk.append(path, "".join(to_line(record) + "\n" for record in records).encode())
        except OSError as error:
            raise cannot_write(path, error, FREE_SPACE) from None

    def close(self, footer: Footer) -> Footer:
        """The footer as it is written: with the digest of all that stands before it."""
        sha256 = sha256_of(self.folder / "results.jsonl")
        closed = footer.model_copy(update={"sha256": sha256})
        self.append(closed)
        return closed


def create(folder: Path, info: RunInfo) -> BundleWriter:
    """A new bundle. Raises InputError where one already is, or the folder cannot be written."""
    if (folder / "results.jsonl").exists():
        raise InputError(folder, "holds a bundle already", "use --resume or another -o")
    try:
        disk.make_folder(folder / "artifacts")
        disk.write_whole(folder / "run.json", (info.model_dump_json(indent=2) + "\n").encode())
        header = (Header().model_dump_json() + "\n").encode()
        disk.write_whole(folder / "results.jsonl", header)  # with its header, or none
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    return BundleWriter(folder, info)


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
            break
        if isinstance(record, Result):
            done.add(record.id)
        good = end
    try:
        disk.cut(path, good)
    except OSError as error:
        raise cannot_write(path, error, FREE_SPACE) from None
    return BundleWriter(folder, old, done)
