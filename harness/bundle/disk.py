"""Every write of a bundle: the calls of the system that may fail, in one place.

Tests make each of them fail in turn (tests/attack/test_writes_that_fail.py). All raise OSError,
also where a link or a pipe lies in place of a file: a backend may have put it there.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_BINARY = getattr(os, "O_BINARY", 0)  # Windows translates line ends otherwise
_ITSELF = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY


def make_folder(path: Path) -> None:
    os.makedirs(path, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write all or nothing: what stood there before stays until the new is complete."""
    part = path.with_name(path.name + ".part")
    try:
        with suppress(FileNotFoundError):  # of a run that was killed
            os.unlink(part)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        try:
            _write(file, content)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def append(path: Path, content: bytes) -> None:
    """Append to a file, which must be there. After an error it is as it was before, or where
    that fails, too, ends with a part of the content."""
    file = _opened(path, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(file).st_size
        try:
            _write(file, content)
            os.fsync(file)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


def cut(path: Path, size: int) -> None:
    """Truncate a file to its first bytes."""
    file = _opened(path, os.O_WRONLY)
    try:
        os.ftruncate(file, size)
        os.fsync(file)
    finally:
        os.close(file)


def opened(path: Path) -> int:
    """Open a new or an old file for writing in place; return its descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _ITSELF, 0o666)


def _opened(path: Path, flags: int) -> int:
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link")
    file = os.open(path, flags | _ITSELF)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def _write(file: int, content: bytes) -> None:
    """Write all of it: the system may take less at a time."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]
