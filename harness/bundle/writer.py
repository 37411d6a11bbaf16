"""Write a bundle: begin, resume, append, close.

When `append` returns, its records are on the disk. A killed run or a machine that fails loses at
most the chunk being written; its torn last line is dropped when the run is resumed. `--resume`
continues the run that was begun: a bundle holds one configuration. Fields that a bundle of an older
version lacks are not compared.

The writer keeps digests of what it wrote: files that a backend changed meanwhile get a footer that
refuses them. The file `digests` has one line for run.json and each result: the first is the start
of the SHA-256 of run.json, each other that of results.jsonl up to its line. A digest reaches the
disk before its line. A killed run can leave more digests than lines, never fewer. A program that
can write the file can also write other digests."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.artifacts import fix_of
from sampler_parity.harness.bundle.bundle import check_run_json, read_info, records_of
from sampler_parity.harness.bundle.info import (
    BackendInfo,
    Footer,
    Header,
    RunInfo,
    described,
    first_change,
)
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import open_file
from sampler_parity.harness.protocol.messages import to_line
from sampler_parity.harness.sanitize import limits

NAME = "digests"
_DIGITS = 16
_REDO = "run again without --resume, to another -o"
FIX = f"put it back, or keep only the lines above it, or {_REDO}"


def of_run(run_sha256: str) -> bytes:
    return f"{run_sha256[:_DIGITS]}\n".encode()


def of_lines(sha256: Any, lines: Iterable[bytes]) -> bytes:
    """Return the digests of lines. sha256: of the lines above; it takes these, too."""
    return b"".join(_of_line(sha256, line) for line in lines)


def _of_line(sha256: Any, line: bytes) -> bytes:
    sha256.update(line)
    return f"{sha256.hexdigest()[:_DIGITS]}\n".encode()


def refuse_changed(folder: Path, run_sha256: str) -> None:
    """Raise InputError, with file and line, if run.json or a whole line of results.jsonl is not as
    the run wrote it. Lines may be missing at the end: a killed run did not write them."""
    path = folder / "results.jsonl"
    try:
        digests = open_file(folder / NAME)
    except FileNotFoundError:
        problem = "missing: changes of the results cannot be detected"
        raise InputError(folder / NAME, problem, _REDO) from None
    with digests, open_file(path) as results:
        if digests.readline(_DIGITS + 2) != of_run(run_sha256):
            problem = f"has changed since the run: {NAME} has another digest"
            raise InputError(folder / "run.json", problem, f"put it back, or {_REDO}")
        sha256 = hashlib.sha256()
        for number, line in enumerate(iter(lambda: results.readline(limits.RECORD), b""), 1):
            complete = line.endswith(b"\n")
            if complete and digests.readline(_DIGITS + 2) != _of_line(sha256, line):
                raise InputError(f"{path}:{number}", "has changed since the run", FIX)


# what a backend reports of itself
_SELF_REPORT = ("name", "version", "build", "device", "capabilities", "random")


def refuse_another(
    folder: Path, old: RunInfo, new: RunInfo, inside: Callable[[Path], str] = lambda folder: ""
) -> None:
    """Raise InputError, which names the first change and the fix, if it is another run. inside: as
    in `described`."""
    for problem, fix in _changes(old, new, inside):
        raise InputError(folder, problem, fix)


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))


def _changes(
    old: RunInfo, new: RunInfo, inside: Callable[[Path], str]
) -> Iterator[tuple[str, str]]:
    """Yield what has changed, each with what to do."""
    for key in ("version", "profile", "seed"):
        then, now = getattr(old, key), getattr(new, key)
        if then != now:
            yield f"was made with another {key}: {then}, and not {now}", _REDO
    if suites := differing(old.suites, new.suites):
        yield f"was made with other suites: {', '.join(suites)} changed", _REDO
    if old.only != new.only:
        yield f"was limited to other cases: {' '.join(old.only) or 'to none'}", _REDO
    for option in sorted(old.options):
        if old.options[option] != new.options.get(option):
            then, now = old.options[option], new.options.get(option)
            yield f"was made with --{option} {then}, and not {now}", f"use --{option} {then}"
    if old.backends.keys() != new.backends.keys():
        yield f"was made with backends {', '.join(old.backends)}", _REDO
        return
    for name, backend in old.backends.items():
        yield from _backend_changes(name, backend, new.backends[name], inside)
    configuration = new.machine.configuration()
    for key, then in old.machine.configuration().items():
        if then and then != configuration[key]:
            yield f"was made with another {_words(key, then, configuration[key])}", _REDO


def _backend_changes(
    name: str, old: BackendInfo, new: BackendInfo, inside: Callable[[Path], str]
) -> Iterator[tuple[str, str]]:
    if new.reference != old.reference:
        yield f"judged {name} by {old.reference}", f"use --reference {old.reference}"
    if new.sandbox != old.sandbox:
        how, fix = ("in", "use") if old.sandbox else ("without", "leave out")
        yield f"ran {name} {how} a sandbox", f"{fix} --sandbox"
    if new.unavailable and not old.unavailable:
        yield f"{name} ran then, and does not run here now: {new.unavailable}", "make it run"
    if old.unavailable and not new.unavailable:
        yield f"{name} did not run here then, and now does", _REDO
    if old.unavailable:
        return
    if _command(old) != _command(new):
        yield f"ran another command as {name}: {' '.join(old.command)}", _REDO
    for file in differing(old.libraries, new.libraries) if old.libraries else []:
        then, now = (b.libraries.get(file, "none")[:12] for b in (old, new))
        yield f"{name} has another {file}: sha256 {then} then, {now} now", _REDO
    if old.files and (change := first_change(old.files, new.files, new.command)):
        where, digests = described(*change, inside)
        yield f"{name} has another {where}: {digests}", f"put it back, or {_REDO}"
    for key in _SELF_REPORT:
        then, now = getattr(old, key), getattr(new, key)
        if then != now:
            yield f"{name} has another {key}: {then or 'none'} then, {now or 'none'} now", _REDO


def _command(backend: BackendInfo) -> list[str]:
    """Return the command without the program where it is a Python of ours, which has several
    names."""
    first, *rest = backend.command or [""]
    return rest if rest[:1] == ["-m"] else [first, *rest]


def _words(key: str, then: Any, now: Any) -> str:
    if isinstance(then, dict):
        names = differing(then, now)
        changes = (f"{name} {then.get(name)}, and not {now.get(name)}" for name in names)
        return f"version of a package: {'; '.join(changes)}"
    if isinstance(then, list):
        return f"{key}: {' '.join(sorted({*then} ^ {*now}))}"
    return f"{key}: {then}, and not {now}"


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
        sums = of_lines(sha256, lines)
        for name, content in ((NAME, sums), ("results.jsonl", b"".join(lines))):
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
    sums = of_run(run_sha256) + of_lines(sha256, [header])
    try:
        disk.make_folder(folder / "artifacts")
        disk.write_whole(folder / "run.json", about)
        disk.write_whole(folder / NAME, sums)
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
    """Resume an unfinished bundle. Removes a torn last line, and items for which a backend was not
    asked. misfit: returns what is wrong with a result, or "". inside: returns the file of a
    folder of packages that changed, or "".

    Raises InputError if it is another run, by its options, suites, backends or machine, or if
    something else has changed it since; then nothing is cut off.
    """
    old = read_info(folder)
    refuse_another(folder, old, info, inside)
    about = _digest(folder / "run.json").hexdigest()
    refuse_changed(folder, about)
    path = folder / "results.jsonl"
    good = 0
    unasked: list[tuple[int, int]] = []
    ids: set[str] = set()
    for number, (end, record) in enumerate(records_of(path, torn_ok=True), 1):
        if isinstance(record, Footer):
            check_run_json(folder, record)
            break
        start, good = good, end
        if isinstance(record, Result):
            if problem := misfit(record):
                raise InputError(f"{path}:{number}", problem, FIX)
            if record.unasked:
                unasked.append((start, end))
            else:
                ids.add(record.id)
    sha256 = hashlib.sha256()
    try:
        disk.cut(path, good)
        if unasked:
            content = path.read_bytes()
            begins, ends = [0, *(end for _, end in unasked)], [*(at for at, _ in unasked), good]
            between = (content[start:end] for start, end in zip(begins, ends, strict=True))
            disk.write_whole(path, b"".join(between))
        with open_file(path) as file:
            sums = of_run(about) + of_lines(sha256, file)
        disk.write_whole(folder / NAME, sums)  # without those of what was cut off
    except OSError as error:
        raise cannot_write(folder, error, fix_of(error)) from None
    return BundleWriter(folder, old, about, sha256, ids)


def _digest(path: Path) -> Any:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256")
