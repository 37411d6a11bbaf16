"""Reading GGUF files that may be damaged, and vocabularies of a hundred thousand tokens."""

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from sampler_parity.harness.files import open_file

_LENGTH = struct.Struct("<Q")
_ARRAY_HEAD = 4 + _LENGTH.size  # kind of its values, and how many


class BoundedReader(gguf.GGUFReader):  # type: ignore[misc]
    """Read to the end of the file; the package's own reader loops on a damaged length.

    Arrays are read as a whole: the package's reader takes ten seconds for 128,256 tokens. Raises
    InputError for a pipe, where it would wait.
    """

    def __init__(self, path: Path) -> None:
        open_file(path).close()
        super().__init__(path)

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        if int(offset) + np.dtype(dtype).itemsize * int(count) > len(self.data):
            raise ValueError("it ends in the middle of a value")
        return super()._get(offset, dtype, count, override_order)

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type != gguf.GGUFValueType.ARRAY or self.byte_order == "S":
            return super()._get_field_parts(orig_offs, raw_type)
        start = int(orig_offs)
        kind = gguf.GGUFValueType(self._get(start, np.uint32)[0])
        n = int(self._get(start + 4, np.uint64)[0])
        if kind == gguf.GGUFValueType.STRING:
            parts, end = self._strings(start + _ARRAY_HEAD, n)
        elif kind in self.gguf_scalar_to_np:
            values = self._get(start + _ARRAY_HEAD, self.gguf_scalar_to_np[kind], n)
            parts, end = [values], start + _ARRAY_HEAD + values.nbytes
        else:
            return super()._get_field_parts(orig_offs, raw_type)
        return end - start, parts, [*range(len(parts))], [gguf.GGUFValueType.ARRAY, kind]

    def _strings(self, at: int, n: int) -> tuple[list[Any], int]:
        """Return n strings as views of the file, and where they end."""
        data = memoryview(self.data)
        strings: list[Any] = []
        for _ in range(n):
            if at + _LENGTH.size > len(data):
                raise ValueError("it ends in the middle of a value")
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size + length
            if at > len(data):
                raise ValueError("it ends in the middle of a value")
            strings.append(data[at - length : at])
        return strings, at
