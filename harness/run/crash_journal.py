"""Remember which item a backend was asked for when a run dies, so that `--resume` gets past it.

An adapter outside a sandbox can end the run itself. Each process of a run keeps a file in the
bundle's folder `in-flight`, with the backend of its request and the items that it is about.
`--resume` counts them in the file `deaths`. It runs those items first, one by one, so that only the
backend that ends a run is counted twice. Then it is not asked for that item again.
"""

import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits

FOLDER = "in-flight"
_DEATHS = "deaths"
_TWICE = 2  # one death may have another cause, such as a full memory
REASON = "sampler-parity ended twice while this backend was asked for this case"
Deaths = Counter[tuple[str, str]]  # by item and backend


class InFlight:
    """This process's file: a line for each item of the request, then an empty line. items: their
    ids. folder: of the bundle; None: keep no file."""

    def __init__(self, folder: Path | None, *items: str) -> None:
        self.items: Sequence[str] = items
        self._file = -1
        if folder is None:
            return
        with suppress(OSError):  # then a death is not counted
            disk.make_folder(folder / FOLDER)
            self._file = disk.opened(folder / FOLDER / str(os.getpid()))

    def asking(self, backend: str) -> None:
        """Record that a backend is asked now; with "", that none is."""
        if self._file >= 0:
            lines = [json.dumps((item, backend)) + "\n" for item in self.items if backend]
            with suppress(OSError):
                os.pwrite(self._file, "".join(lines).encode() + b"\n", 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Record that none is asked."""
        if self._file >= 0:
            with suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
        self._file = -1


@contextmanager
def deaths(folder: Path) -> Iterator[Deaths]:
    """Yield how often earlier processes of this run died of each item and backend. A run that ends
    by itself leaves nothing in flight."""
    recorded = _known(folder / FOLDER)
    with suppress(OSError):
        _forget_running(folder / FOLDER)
        if recorded:
            lines = "".join(json.dumps(pair) + "\n" for pair in recorded.elements())
            disk.write_whole(folder / FOLDER / _DEATHS, lines.encode())
    try:
        yield recorded
    except BaseException:
        _forget_running(folder / FOLDER)
        raise
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def fatal_of(recorded: Deaths) -> dict[str, Collection[str]]:
    """Return the backends that are not asked again, by item."""
    fatal: dict[str, Collection[str]] = {}
    for (item, backend), times in recorded.items():
        if times >= _TWICE:
            fatal[item] = {*fatal.get(item, ()), backend}
    return fatal


def _known(folder: Path) -> Deaths:
    recorded: Deaths = Counter()
    for path in sorted(folder.glob("*")):
        with suppress(Exception):  # an adapter may have written anything there
            content = read_file(path, limits.MIB).decode()
            for line in itertools.takewhile(bool, content.splitlines()):
                item, backend = map(str, json.loads(line))
                recorded[item, backend] += 1
    return recorded


def _forget_running(folder: Path) -> None:
    for path in folder.glob("*"):
        if path.name != _DEATHS:
            with suppress(OSError):
                path.unlink()
