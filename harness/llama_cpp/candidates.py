"""llama_token_data_array, alike in llama.cpp of every release and in its forks."""

from ctypes import Structure, byref, c_bool, c_int64, c_size_t, c_void_p
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOKEN_DATA = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])


class TokenDataArray(Structure):
    """llama_token_data_array. A sampler may move `data`."""

    _fields_ = (
        ("data", c_void_p),
        ("size", c_size_t),
        ("selected", c_int64),
        ("sorted", c_bool),
    )


class NativeCandidates:
    """n llama_token_data and the llama_token_data_array that points at them."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.values = values = _numbered(len(logits)).copy()
        values[1::3] = logits
        self.start: int = values.__array_interface__["data"][0]
        self.array = TokenDataArray(self.start, len(logits), -1, False)
        self.reference = byref(self.array)

    @property
    def data(self) -> NDArray[Any]:
        return self.values.view(TOKEN_DATA)

    def current(self) -> NDArray[Any]:
        """Return the current candidates."""
        return self._left().view(TOKEN_DATA)

    def result(self) -> tuple[Any, Any, Any, bool | None, int]:
        """Return ids, logits, p, sorted, selected: arrays that follow later changes. A view as
        TOKEN_DATA and its fields would take several times as long."""
        array, current = self.array, self._left()
        return (
            current[::3].view(np.int32),
            current[1::3],
            current[2::3],
            array.sorted,
            array.selected,
        )

    def _left(self) -> NDArray[np.float32]:
        """Return the values of the current candidates; xtc moves the start."""
        first = ((self.array.data or self.start) - self.start) // 4
        return self.values[first : first + 3 * self.array.size]


@lru_cache(maxsize=4)
def _numbered(n: int) -> NDArray[np.float32]:
    """Return n candidates without logits, to copy: float32[3 * n] with the ids as int32."""
    values = np.zeros(3 * n, np.float32)
    values.view(np.int32)[::3] = np.arange(n)
    return values
