"""MLX's random numbers: a key is split for every use, Threefry 2x32 makes words of it.

A seed is a key's two words. Each use takes the second half of a split and leaves the first as the
key; so n uniforms at once are not n uniforms one after the other.
Source: mlx/random.cpp, mlx/backend/cpu/threefry.cpp.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.threefry import Words, threefry

_WORD = 0xFFFFFFFF
_BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))

Key = tuple[int, int]


class Keys:
    """mx.random.seed and what a sampler draws from it."""

    def __init__(self, seed: int) -> None:
        self.key: Key = (seed >> 32, seed & _WORD)

    def uniforms(self, n: int) -> NDArray[np.float32]:
        """Return n numbers in [0, 1): words divided by 2**32 in float32, none above 1 - 2**-24."""
        first, second, third, fourth = _bits(self.key, 4).tolist()
        self.key = first, second
        words = _bits((third, fourth), n)
        values = words.astype(np.float32) / np.float32(2.0**32)
        return np.asarray(np.minimum(values, _BELOW_ONE))


def _bits(key: Key, n: int) -> Words:
    """Make n words of a key: counter i gives word i and one of the second half."""
    half, odd = divmod(n, 2)
    counters = np.arange(half, dtype=np.uint32)
    words = np.empty(n, np.uint32)
    words[:half], words[half + odd :] = threefry(counters, counters + np.uint32(half + odd), key)
    if odd:
        alone = np.array([half], np.uint32), np.array([0], np.uint32)
        words[half] = threefry(*alone, key)[0][0]
    return words
