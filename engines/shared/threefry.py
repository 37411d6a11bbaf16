"""Threefry 2x32 with 20 rounds.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@np.errstate(over="ignore")
def threefry(low: Words, high: Words, key: tuple[int, int]) -> tuple[Words, Words]:
    """Return two words for each pair of words. key: its low and its high word."""
    first, second = np.uint32(key[0]), np.uint32(key[1])
    keys = (second, first ^ second ^ np.uint32(0x1BD11BDA), first)
    x, y = low + keys[2], high + keys[0]
    for i in range(5):
        for by in ROTATIONS[i % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(by)) | (y >> np.uint32(32 - by)))
        x, y = x + keys[i % 3], y + keys[(i + 1) % 3] + np.uint32(i + 1)
    return x, y
