"""The scratch file: raw arrays that the harness and one backend process share by mapping it."""

import contextlib
import mmap
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_FIRST_SIZE = 1 << 26


class Scratch:
    """A growing mapped file. The harness creates it; a worker opens the same path.

    The file is sparse. It lies in memory (/dev/shm) where there is room for it.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            memory = Path("/dev/shm")
            roomy = memory.is_dir() and shutil.disk_usage(memory).free > 1 << 32
            handle, name = tempfile.mkstemp("-sampler-parity", dir=memory if roomy else None)
            os.ftruncate(handle, _FIRST_SIZE)
            os.close(handle)
            path = Path(name)
        self.path = path
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)

    def size(self) -> int:
        """Bytes of the file now: the other side may have grown or cut it."""
        return os.fstat(self._file.fileno()).st_size

    def ensure(self, size: int = _FIRST_SIZE) -> None:
        """Make the file at least this long, and the mapping as long as the file."""
        if self.size() < size:
            os.ftruncate(self._file.fileno(), 1 << (size - 1).bit_length())
        if len(self._map) < self.size():
            self._map = mmap.mmap(self._file.fileno(), 0)

    def view(self, at: int, n: int, dtype: DTypeLike) -> NDArray[Any]:
        """The n values at a byte offset; changes when the file does."""
        size = at + n * np.dtype(dtype).itemsize
        if size > len(self._map):
            self.ensure(size)
        return np.frombuffer(self._map, dtype, n, at)

    def write(self, at: int, values: NDArray[Any]) -> int:
        """Put values at a byte offset; returns the offset behind them."""
        self.view(at, len(values), values.dtype)[:] = values
        return at + values.nbytes

    def remove(self) -> None:
        """Delete the file; mappings that are still in use stay valid.

        Windows does not delete a file that is mapped: there it stays in the temporary folder.
        """
        self._file.close()
        with contextlib.suppress(PermissionError):
            self.path.unlink(missing_ok=True)
