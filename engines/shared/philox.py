"""Philox of Triton, tl.rand: a number of [0, 1) by seed and offset."""

import numpy as np

_ROUND, _KEY = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF
SCALE = np.float32(4.6566127342e-10)


def rand(seed: int, offset: int) -> np.float32:
    """Return tl.rand(seed, offset). seed, offset: 64 bits.

    Source: uint_to_uniform_float and rand, triton/language/random.py at 3.8.0.
    """
    c = [offset & _WORD, offset >> 32 & _WORD, 0, 0]
    k0, k1 = seed & _WORD, seed >> 32 & _WORD
    for _ in range(10):
        first, second = _ROUND[0] * c[0], _ROUND[1] * c[2]
        c = [second >> 32 ^ c[1] ^ k0, second & _WORD, first >> 32 ^ c[3] ^ k1, first & _WORD]
        k0, k1 = (k0 + _KEY[0]) & _WORD, (k1 + _KEY[1]) & _WORD
    signed = c[0] - 2**32 if c[0] >= 2**31 else c[0]
    return np.float32(-signed - 1 if signed < 0 else signed) * SCALE
