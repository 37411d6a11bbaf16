"""The Gumbel noise of vLLM's second model runner: a hash of seed, position and token.

    h = murmur3 of four words, from 0: the seed's low and high word, the position's low word and
        the token's id. The length is 16 bytes.
    u = (h + 1/2) / 2**32, rounded to float32
    noise = -log(-log(1 - u)), in float32

log(1 - u) is a series of eight terms below u = 1/4: the largest noise comes from small u, where
float32 is fine. No generator has a state: equal seed, position and token have equal noise.

Source: vllm/v1/worker/gpu/sample/gumbel.py at 0.32.0; the lines stand behind the statements,
    those of murmur3 are 75-94.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.murmur3 import Words, finished, mixed

Floats = NDArray[np.float32]

_LENGTH = np.uint32(16)


def hashed(seed: int, pos: int, tokens: NDArray[Any], domain: int = 0) -> Words:
    """Hash a draw. seed, pos: 64 bits with a sign; the high word of pos is not used."""
    h = np.full(1, domain, np.uint32)  # 103-104
    for word in (seed, seed >> 32, pos):
        h = mixed(h, np.array([word & 0xFFFFFFFF], np.uint32))  # 105-107
    return finished(mixed(h, tokens.astype(np.uint32)) ^ _LENGTH)  # 108-109


def uniform(h: Words) -> Floats:
    high, low = (h >> np.uint32(16)).astype(np.float32), (h & np.uint32(0xFFFF)).astype(np.float32)
    return high * np.float32(2**-16) + (low + np.float32(0.5)) * np.float32(2**-32)  # 120-125


def log_of_rest(u: Floats) -> Floats:
    """Return log(1 - u)."""
    series = np.full_like(u, 1 / 8)  # 150
    for divisor in range(7, 0, -1):
        series = np.float32(1 / divisor) + u * series  # 151-157
    series = -u * series  # 158
    direct = np.log(np.maximum(np.float32(1) - u, np.float32(2**-24)))  # 160
    return np.where(u < np.float32(0.25), series, direct)  # 161


@np.errstate(all="ignore")
def gumbel(seed: int, pos: int, tokens: NDArray[Any]) -> Floats:
    return -np.log(-log_of_rest(uniform(hashed(seed, pos, tokens))))  # 198-202


@np.errstate(all="ignore")
def gumbel_of_64_bits(seed: int, pos: int, tokens: NDArray[Any]) -> NDArray[np.float64]:
    """Return the noise of --use-fp64-gumbel: -log(-log(u)) of 53 bits of two hashes."""
    low, high = (hashed(seed, pos, tokens, domain).astype(np.uint64) for domain in (0, 0x9E3779B9))
    bits = (high << np.uint64(32) | low) >> np.uint64(11)  # 138-140
    u = (bits.astype(np.float64) + 0.5) * 2.0**-53  # 130
    u = np.where(u == 1, u - 2.0**-53, u)  # 133
    return np.asarray(-np.log(-np.log(u)))  # 196
