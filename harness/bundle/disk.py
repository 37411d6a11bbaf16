"""Every write of a bundle: the calls of the system that may fail, in one place.

Tests make each of them fail in turn (tests/attack/test_writes_that_fail.py). All raise OSError.
"""

import os
from contextlib import suppress
from pathlib import Path

_BINARY = getattr(os, "O_BINARY", 0)  # Windows translates line ends otherwise


def make_folder(path: Path) -> None:
    os.makedirs(path, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Whole or not at all: what stood there before stays until the new is complete."""
    part = path.with_name(path.name + ".part")
    try:
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o666)
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
    """Behind what the file has, which must be there. After an error it is as it was before, or
    where that fails, too, ends with a part of the content."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)
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
    """Keep the first bytes alone."""
    file = os.open(path, os.O_WRONLY | _BINARY)
    try:
        os.ftruncate(file, size)
        os.fsync(file)
    finally:
        os.close(file)


def _write(file: int, content: bytes) -> None:
    """All of it: the system may take less at a time."""
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
