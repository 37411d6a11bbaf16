"""MurmurHash3 of 32 bits: its steps for a word, and for the end."""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_FIRST, _SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_FINAL = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def rotated(value: Words, shift: int) -> Words:
    return (value << np.uint32(shift)) | (value >> np.uint32(32 - shift))


def mixed(h: Words, key: Words) -> Words:
    """Mix a word into a hash."""
    key = rotated(key * _FIRST, 15) * _SECOND
    return rotated(h ^ key, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def finished(h: Words) -> Words:
    h = (h ^ (h >> np.uint32(16))) * _FINAL[0]
    h = (h ^ (h >> np.uint32(13))) * _FINAL[1]
    return h ^ (h >> np.uint32(16))
