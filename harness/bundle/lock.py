"""One writer at a time: a lock of the system on the file `lock` in the folder of a bundle.

The system releases it when the process ends, however it ends, so the file may stay. A process that
its holder starts does not have it: Python's files are not inherited, and a fork closes it.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.errors import InputError, cannot_write

_PAUSE_S = 0.1
_open: set[int] = set()


def _close_in_fork() -> None:
    """Close the copies of a fork: they would hold the lock for as long as the new process lives."""
    for file in _open:
        os.close(file)
    _open.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_close_in_fork)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder. Raises InputError if another process writes there, or the folder cannot be
    written."""
    path = folder / "lock"
    try:
        disk.make_folder(folder)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    _open.add(file)
    try:
        try:
            _lock(file)
        except (BlockingIOError, PermissionError):
            fix = "wait until it ends, or choose another -o"
            raise InputError(folder, "another process writes this bundle", fix) from None
        except OSError as error:
            raise cannot_write(path, error, "choose another -o") from None
        yield
    finally:
        if file in _open:  # not in a fork, which has closed it
            _open.remove(file)
            with suppress(OSError):  # nothing was written to it
                os.close(file)


@contextmanager
def waiting_for(path: Path) -> Iterator[None]:
    """Take the same lock on a file of any name, once its holder releases it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    _open.add(file)
    try:
        while True:
            try:
                _lock(file)
                break
            except (BlockingIOError, PermissionError):
                time.sleep(_PAUSE_S)
        yield
    finally:
        if file in _open:
            _open.remove(file)
            os.close(file)


def _lock(file: int) -> None:
    """Lock a file. Raises OSError if another has it: BlockingIOError, on Windows
    PermissionError."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
