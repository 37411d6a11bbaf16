"""tinygrad's random numbers and logarithm, in the float32 operations of its kernels.

rand_like has 23 bits: Threefry-2x32 of the positions, with a key made of the seed and of how many
numbers were drawn. log is log2, a polynomial, times log(2). No operation is fused.
Source: tinygrad/mixin/rand.py (lines 12-42), tensor.py (641-653), codegen/decomp/op.py (48-60) and
codegen/decomp/transcendental.py (219-255) at 0.14.0.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.threefry import threefry

Floats = NDArray[np.float32]

FIRST_DEVICE = int.from_bytes(hashlib.sha256(bytes(4)).digest(), "big") & 0xFFFFFFFF


def uniforms(seed: int, count: int, n: int) -> Floats:
    """Return n numbers in [0, 1) after `count` earlier ones."""
    at = np.array([count & 0xFFFFFFFF], np.uint32), np.array([count >> 32], np.uint32)
    low, high = threefry(*at, (FIRST_DEVICE, seed))
    half = (n + 1) // 2
    positions = np.arange(half, dtype=np.uint32)
    key = int(low[0]), int(high[0])
    bits = np.concatenate(threefry(positions, positions + np.uint32(half), key))[:n]
    one = (bits >> np.uint32(9)) | np.uint32(0x3F800000)
    return one.view(np.float32) - np.float32(1)


def f(value: float) -> np.float32:
    return np.float32(value)


def log(x: Floats) -> Floats:
    """Return the natural logarithm of x > 0."""
    small = x < f(1e-4)
    a = np.where(small, x * f(2.0**64), x)
    exponent = (((a * f(1 / 0.75)).view(np.int32) >> 23) & 255) - 127
    m = (a.view(np.int32) - (exponent << 23)).view(np.float32)
    e = np.where(small, exponent - 64, exponent).astype(np.float32)
    x1 = (m - f(1)) / (m + f(1))
    x2 = x1 * x1
    t = (f(0.4374550283) * x2 + f(0.5764790177)) * x2 + f(0.9618012905120)
    log2 = t * (x1 * x2) + e + x1 * f(2.8853900432586669922) + x1 * f(3.2734474483568488616e-08)
    return np.asarray(log2 * f(0.6931471805599453))


def gumbel(seed: int, count: int, n: int) -> Floats:
    """Return the noise of n tokens, float32, in -3.32..15.95."""
    u = np.maximum(uniforms(seed, count, n), f(1e-12))
    return np.asarray(-log(-log(u)))
