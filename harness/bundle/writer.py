"""Write a bundle: begin, resume, append, close.

When `append` returns, its records are on the disk. A killed run or a machine that fails loses at
most the chunk being written; its torn last line is dropped when the run is resumed.

The writer keeps digests of what it wrote: files that a backend changed meanwhile get a footer that
refuses them.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle import digests, disk
from sampler_parity.harness.bundle.artifacts import fix_of
from sampler_parity.harness.bundle.bundle import check_run_json, read_info, records_of
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.records.ends import Footer, Header
from sampler_parity.harness.bundle.same_run import refuse_another
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import open_file
from sampler_parity.harness.protocol.messages import to_line

_HALF_A_PAIR = re.compile(r"""[^\s'"]*\\ud[89a-f][0-9a-f]{2}[^\s'"]*""")  # as repr shows it


@dataclass
class BundleWriter:
    """Append to a bundle. done holds the ids that it already has (of a resumed run); run_sha256
    is that of run.json, sha256 that of the records so far."""

    folder: Path
    info: RunInfo
    run_sha256: str
    sha256: Any = field(default_factory=hashlib.sha256)
    done: set[str] = field(default_factory=set)

    def append(self, *records: BaseModel) -> None:
        """Write records to the disk. Raises InputError if it cannot: then none of them is in."""
        lines = [(to_line(record) + "\n").encode() for record in records]
        sha256 = self.sha256.copy()
        sums = digests.of_lines(sha256, lines)
        for name, content in ((digests.NAME, sums), ("results.jsonl", b"".join(lines))):
            path = self.folder / name
            try:
                disk.append(path, content)
            except OSError as error:
                raise cannot_write(path, error, fix_of(error)) from None
        self.sha256 = sha256

    def close(self, footer: Footer) -> Footer:
        """Write the footer with the digests of the records, and return it. Raises InputError if the
        file has changed: then the footer refuses it for ever."""
        sha256 = self.sha256.hexdigest()
        closed = footer.model_copy(update={"sha256": sha256, "run_sha256": self.run_sha256})
        changed = [
            self.folder / name
            for name, written in (("run.json", self.run_sha256), ("results.jsonl", sha256))
            if _digest(self.folder / name).hexdigest() != written
        ]
        self.append(closed)
        for path in changed:
            problem = "another program, perhaps a backend, changed it during the run"
            raise InputError(path, problem, "run with --sandbox, to another -o")
        return closed


def create(folder: Path, info: RunInfo) -> BundleWriter:
    """Create a bundle. Raises InputError if one already is, or the folder cannot be written."""
    if (folder / "results.jsonl").exists():
        raise InputError(folder, "holds a bundle already", "use --resume or another -o")
    about = _text_of(info)
    header = (Header().model_dump_json() + "\n").encode()
    run_sha256, sha256 = hashlib.sha256(about).hexdigest(), hashlib.sha256()
    sums = digests.of_run(run_sha256) + digests.of_lines(sha256, [header])
    try:
        disk.make_folder(folder / "artifacts")
        disk.write_whole(folder / "run.json", about)
        disk.write_whole(folder / digests.NAME, sums)
        disk.write_whole(folder / "results.jsonl", header)  # with its header, or none
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    return BundleWriter(folder, info, run_sha256, sha256)


def _text_of(info: RunInfo) -> bytes:
    """Return the text of run.json. Raises InputError if a name in it, perhaps of a folder, is not
    UTF-8."""
    try:
        return (info.model_dump_json(indent=2) + "\n").encode()
    except ValueError:
        name = _HALF_A_PAIR.search(repr(info.model_dump()))
        where = name[0] if name else "a name"
        raise InputError(where, "is not UTF-8, the encoding of a bundle", "rename it") from None


def resume(
    folder: Path,
    info: RunInfo,
    misfit: Callable[[Result], str] = lambda result: "",
    inside: Callable[[Path], str] = lambda folder: "",
) -> BundleWriter:
    """Resume an unfinished bundle; a torn last line is cut off. misfit: returns what is wrong with
    a result, or "". inside: returns the file of a folder of packages that changed, or "".

    Raises InputError if it is another run, by its options, suites, backends or machine, or if
    something else has changed it since; then nothing is cut off.
    """
    old = read_info(folder)
    refuse_another(folder, old, info, inside)
    about = _digest(folder / "run.json").hexdigest()
    digests.refuse_changed(folder, about)
    path = folder / "results.jsonl"
    good = 0
    ids: set[str] = set()
    for number, (end, record) in enumerate(records_of(path, torn_ok=True), 1):
        if isinstance(record, Footer):
            check_run_json(folder, record)
            break
        if isinstance(record, Result):
            if problem := misfit(record):
                raise InputError(f"{path}:{number}", problem, digests.FIX)
            ids.add(record.id)
        good = end
    sha256 = hashlib.sha256()
    try:
        disk.cut(path, good)
        with open_file(path) as file:
            sums = digests.of_run(about) + digests.of_lines(sha256, file)
        disk.write_whole(folder / digests.NAME, sums)  # without those of what was cut off
    except OSError as error:
        raise cannot_write(folder, error, fix_of(error)) from None
    return BundleWriter(folder, old, about, sha256, ids)


def _digest(path: Path) -> Any:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256")
