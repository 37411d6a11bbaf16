"""Read a recording: the processes of a folder, their events in order, and arrays on demand."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file
from sampler_parity.harness.strict import first_mistake
from sampler_parity.programs.recording.events import EVENT, Array, Event, Start, Vocabulary
from sampler_parity.programs.recording.format import Lists, checked, lists_of, size_of
from sampler_parity.programs.recording.segments import LONGEST, unpacked

LINE = 64 * 2**20  # bytes of the longest line: a grammar, or 100,000 biases


REMOVED = "--keep removed it"


class Gone(Exception):  # noqa: N818 - an ordinary outcome
    """An array is not there: not recorded, or removed by --keep."""


@dataclass
class GrowingEvents:
    """The events of a file that may still grow. at: bytes read so far."""

    path: Path
    at: int = 0
    number: int = 0
    chain: int = 0

    def new(self) -> Iterator[Event]:
        """Yield those of whole lines that were not read yet. Raises InputError with the number of a
        damaged line."""
        with open_file(self.path) as file:
            file.seek(self.at)
            while (line := file.readline(LINE)).endswith(b"\n"):
                self.number += 1
                self.at += len(line)
                where = f"{self.path}:{self.number}"
                try:
                    fields, self.chain = checked(line, self.chain)
                    yield EVENT.validate_python(fields)
                except ValidationError as error:
                    raise InputError(where, first_mistake(error)) from None
                except (ValueError, RecursionError) as error:
                    raise InputError(where, f"is damaged: {error}") from None


@dataclass
class Process:
    """One process of a recording. name: its number; "-2" follows for a program that it became.
    torn: a line that a killed program left unfinished."""

    folder: Path
    name: str
    torn: bool = False
    _segments: dict[int, bytes] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.events"

    @cached_property
    def start(self) -> Start:
        """The first event. Raises InputError."""
        first = next(self.events(), None)
        if not isinstance(first, Start):
            raise InputError(self.path, "does not begin with `start`")
        if first.v != 1:
            raise InputError(self.path, f"has format {first.v}; this version reads 1")
        return first

    def events(self, most: int | None = None) -> Iterator[Event]:
        """Yield the events in order, those of the first `most` bytes. Raises InputError with the
        number of a damaged line; an unfinished last line ends it."""
        lines, self.torn = GrowingEvents(self.path), False
        for event in lines.new():
            yield event
            if lines.at == most:
                return
        self.torn = self.path.stat().st_size > lines.at

    def lists(self, array: Array) -> Lists:
        """Return the candidates of an array. Raises Gone if they are not there, and InputError if
        they are damaged."""
        if array.form not in ("some", "none") and array.at is not None:
            return self._lists(array, array.n, array.at)
        if array.n == 0:
            return Lists(np.zeros(0, np.int32), *[np.zeros(0, np.float32)] * 2)
        raise Gone("it is not recorded")

    def some(self, array: Array) -> Lists | None:
        """Return those candidates that an array lists; None if it has not this form."""
        if array.form != "some" or array.at is None:
            return None
        try:
            return self._lists(array, array.listed, array.at)
        except Gone:
            return None

    def _lists(self, array: Array, n: int, at: tuple[int, int]) -> Lists:
        number, offset = at
        content = self._read(number, offset, size_of(array.form, n))
        try:
            return lists_of(array, content)
        except ValueError as error:
            where = f"{self._file(number)}: byte {offset:,}"
            raise InputError(where, f"an array is damaged: {error}") from None

    def _file(self, number: int) -> Path:
        return self.folder / f"{self.name}.{number:04}.arrays"

    def _read(self, number: int, offset: int, size: int) -> bytes:
        path = self._file(number)
        try:
            with open_file(path) as file:
                file.seek(offset)
                return file.read(size)
        except FileNotFoundError:  # it is compressed by now
            return self._segment(number, path.with_name(path.name + ".z"))[offset : offset + size]

    def _segment(self, number: int, path: Path) -> bytes:
        if number not in self._segments:
            try:
                with open_file(path) as file:
                    # Only one is cached: each may have 64 MiB.
                    self._segments = {number: unpacked(file.read(LONGEST))}
            except FileNotFoundError:
                raise Gone(REMOVED) from None
            except ValueError as error:
                raise InputError(path, f"is damaged: {error}") from None
        return self._segments[number]

    @cached_property
    def lineage(self) -> "list[tuple[Process, int | None]]":
        """The processes that it was forked from, the first one first, each with the size of its
        events at the fork, and itself. Raises InputError."""
        lineage: list[tuple[Process, int | None]] = [(self, None)]
        while (start := lineage[0][0].start).parent:
            parent = Process(self.folder, str(start.parent))
            if any(parent.name == process.name for process, _ in lineage):
                raise InputError(self.path, f"process {parent.name} is its own parent")
            lineage.insert(0, (parent, start.parent_bytes))
        return lineage

    @cached_property
    def models(self) -> list[Vocabulary]:
        return [event for event in self.events() if isinstance(event, Vocabulary)]


@dataclass(frozen=True)
class Recording:
    """A folder that `sampler-parity record` wrote. Raises InputError if it is none."""

    folder: Path

    @cached_property
    def processes(self) -> list[Process]:
        """The recorded processes, by their number. Raises InputError if there is none."""
        paths = list(self.folder.glob("*.events"))
        if not paths:
            raise InputError(self.folder, "is not a recording: it has no file PID.events")
        names = [path.stem for path in paths if not _ended_at_once(path)]
        if not names:
            raise InputError(self.folder, "has no event: each process was stopped at its start")
        names.sort(key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
        return [Process(self.folder, name) for name in names]


def _ended_at_once(path: Path) -> bool:
    """Return whether a process was killed, or could not write, before its first event."""
    with open_file(path) as file:
        line = file.readline(LINE)
    return not line.endswith(b"\n") or line.startswith(b'{"e":"stopped"')


def texts_of(folder: Path, model: Vocabulary) -> dict[str, Any]:
    """Return the vocabulary of a model, as recorded. Raises InputError."""
    try:
        with open_file(folder / model.file) as file:
            read = json.load(file)
    except (OSError, ValueError) as error:
        raise InputError(folder / model.file, f"cannot be read: {error}") from None
    assert isinstance(read, dict)
    return read
