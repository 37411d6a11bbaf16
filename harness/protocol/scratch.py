"""The scratch file: raw arrays between the harness and one backend process.

The harness makes the file and copies from it. The other side may change, truncate or delete it at
any time, and the system ends a process that uses the mapping of a truncated file (SIGBUS). A worker
maps it.
"""

import mmap
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import groups
from sampler_parity.harness.processes.groups import MEMORY
from sampler_parity.harness.processes.supervisor import PREFIX

_FIRST_SIZE = 1 << 26
_READ = 1 << 30  # bytes at once: no system reads 2 GiB


class Scratch:
    """A growing file. The harness creates it; a worker opens the same path.

    It lies in memory (/dev/shm) if there is space. It is sparse, but what a request may use is
    reserved, so a full disk fails here and not in a backend.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._made = path is None
        if path is None:
            self.path, self._file = _new_file()
        else:
            self.path, self._file = path, path.open("r+b", buffering=0)
        self._length = self.size()
        self._reserved = 0
        self._map: mmap.mmap | None = None
        self._words = (np.empty(0, np.int32), np.empty(0, np.float32))
        self._start = 0
        self._copy: NDArray[np.uint8] = np.empty(0, np.uint8)

    def size(self) -> int:
        """Return the bytes of the file now: the other side may have changed its length."""
        return os.fstat(self._file.fileno()).st_size

    def harm(self) -> str:
        """Return what was done to the file since `ensure`, as a clause; "" if nothing."""
        try:
            there = os.stat(self.path)
        except OSError:
            return "the scratch file was deleted"
        mine = os.fstat(self._file.fileno())
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
            return "another file was put in the place of the scratch file"
        if mine.st_size != self._length:
            how = "cut" if mine.st_size < self._length else "grown"
            return f"the scratch file was {how} to {mine.st_size} bytes, it had {self._length}"
        return ""

    def ensure(self, size: int) -> None:
        """Make the file at least this long; its maker also reserves the space. Raises InputError if
        there is no space."""
        if self.size() < size:
            os.ftruncate(self._file.fileno(), 1 << (size - 1).bit_length())
            self._length = self.size()
        if self._made and size > self._reserved:
            self._reserve(size)

    def view(self, at: int, n: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return the n values at a byte offset, mapped: for a worker. Changes with the file."""
        size = at + n * np.dtype(dtype).itemsize
        return np.frombuffer(self._mapped(size), dtype, n, at)

    def words(self, at: int, n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return n words at a byte offset, a multiple of 4, as `view` of both types does: in half
        of the time."""
        first, end = at >> 2, (at >> 2) + n
        if end > len(self._words[0]):
            content = self._mapped(4 * end)
            self._words = (np.frombuffer(content, np.int32), np.frombuffer(content, np.float32))
            self._start = self._words[0].ctypes.data
        ints, floats = self._words
        return ints[first:end], floats[first:end]

    def address(self, at: int, n: int) -> int:
        """Return where n words at a byte offset are in memory, until more of the file is mapped."""
        self.words(at, n)
        return self._start + at

    def _mapped(self, size: int) -> mmap.mmap:
        """Return a mapping of at least so many bytes."""
        if self._map is None or size > len(self._map):
            self.ensure(size)
            self._map = mmap.mmap(self._file.fileno(), 0)
        return self._map

    def read(self, at: int, n: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a copy of the n values at a byte offset; fewer if the file ends before.

        They hold until that place is read again, for the next request: fresh memory each time would
        take longer than the copying.
        """
        size = n * np.dtype(dtype).itemsize
        if at + size > len(self._copy):
            self._copy = np.empty(max(at + size, self._length), np.uint8)
        target = self._copy.data[at : at + size]
        n_read = 0
        while n_read < size and (
            part := self._read_into(at + n_read, target[n_read : n_read + _READ])
        ):
            n_read += part
        count = n_read // np.dtype(dtype).itemsize
        return np.frombuffer(self._copy, dtype, count, at) if count else np.empty(0, dtype)

    def write(self, at: int, *values: NDArray[Any]) -> int:
        """Write values at a byte offset, one behind the other; return the offset behind them."""
        data = memoryview(b"".join([array.tobytes() for array in values]))
        end = at + len(data)
        self.ensure(end)
        while data:
            written = self._write_at(end - len(data), data)
            data = data[written:]
        return end

    def remove(self) -> None:
        """Delete the file; mappings that are still in use stay valid.

        So is a folder that was put in its place. Windows does not delete a file that is mapped:
        there it stays in the temporary folder.
        """
        self._file.close()
        try:
            self.path.unlink()
        except OSError:
            shutil.rmtree(self.path, ignore_errors=True)

    def _reserve(self, size: int) -> None:
        """Reserve the space of a sparse file: without it, a write to a mapping ends the process."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), self._reserved, size - self._reserved)
            elif shutil.disk_usage(self.path.parent).free < size - self._reserved:
                raise OSError("no space left")
        except OSError as error:
            problem = f"no space for {size / 2**20:.0f} MiB of arrays: {error.strerror or error}"
            fix = "free some space, or set TMPDIR to a folder with more"
            raise InputError(f"scratch file in {self.path.parent}", problem, fix) from None
        self._reserved = size

    if sys.platform == "win32":

        def _read_into(self, at: int, target: memoryview) -> int:
            self._file.seek(at)
            return self._file.readinto(target)

        def _write_at(self, at: int, data: memoryview) -> int:
            self._file.seek(at)
            return self._file.write(data)

    else:

        def _read_into(self, at: int, target: memoryview) -> int:
            if hasattr(os, "preadv"):  # which not every macOS has
                return os.preadv(self._file.fileno(), [target], at)
            os.lseek(self._file.fileno(), at, os.SEEK_SET)
            return os.readv(self._file.fileno(), [target])

        def _write_at(self, at: int, data: memoryview) -> int:
            return os.pwrite(self._file.fileno(), data, at)


def _new_file() -> tuple[Path, IO[bytes]]:
    """Make an empty file and lock it while this process lives: supervisors of other processes
    delete files without a lock."""
    groups.supervise()  # first: else no one would delete the file of a process killed in between
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 1 << 32
    while True:
        handle, name = tempfile.mkstemp(
            prefix=f"{PREFIX}{os.getpid()}-", dir=MEMORY if roomy else None
        )
        file = os.fdopen(handle, "r+b", buffering=0)
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # a supervisor may have it for a moment, and delete it
        if os.fstat(handle).st_nlink:
            os.ftruncate(handle, _FIRST_SIZE)
            return Path(name), file
        file.close()
