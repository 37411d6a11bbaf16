"""C++ random numbers: the streams of llama.cpp's samplers and of the other engines.

A generator holds 32-bit words; how words become numbers is the standard library's choice, not the
standard's, so another library may draw other tokens from the same seed (reference/platforms).

At the end: the walk of the sampler dist to its token, and its random numbers, many at once.
"""

import os
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import floats, platforms
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.compiled import jit, jit_of_integers

DEFAULT_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED: "draw a seed yourself"

_N = 624  # words of std::mt19937
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_BELOW_ONE_F = np.nextafter(np.float32(1), np.float32(0))


class Mt19937:
    """std::mt19937. Its 624 words and the place of the next one are `_state`: NumPy's generator of
    the same stream takes ten times as long to make as to seed. They are made for the first draw."""

    def __init__(self, seed: int) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Seed as std::mt19937(seed), 0 <= seed < 2**32. DEFAULT_SEED takes a random one."""
        if seed == DEFAULT_SEED:
            seed = int.from_bytes(os.urandom(4), "little")
        self.seed_exactly(seed)

    def seed_exactly(self, seed: int) -> None:
        """Seed with any number, also with DEFAULT_SEED."""
        self.seed_cur = seed
        self._state: NDArray[np.uint32] | None = None

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next n 32-bit outputs."""
        if self._state is None:
            self._state = _seeded(int(self.seed_cur))
        return _words(self._state, n)  # type: ignore[no-any-return]

    def uniform_double(self) -> float:
        """Draw std::uniform_real_distribution<double>(0, 1): generate_canonical from two words.
        libc++ may return 1.0."""
        low, high = self.words(2).tolist()
        value = (float(low) + float(high) * 2.0**32) / 2.0**64
        return value if value < 1.0 or platforms.current().random == "libc++" else _BELOW_ONE

    def uniform_float(self) -> np.float32:
        """Draw std::uniform_real_distribution<float>(0, 1): generate_canonical from one word.
        libc++ may return 1.0."""
        value = np.float32(self.words(1)[0]) / np.float32(2.0**32)
        return value if value < 1 or platforms.current().random == "libc++" else _BELOW_ONE_F

    def clone(self) -> "Mt19937":
        """Return a generator that continues this stream on its own."""
        twin = copy(self)
        if self._state is not None:
            twin._state = self._state.copy()
        return twin


@jit_of_integers
def _seeded(seed: int) -> NDArray[np.uint32]:
    state = np.empty(_N + 1, np.uint32)
    word = seed & 0xFFFFFFFF
    state[0] = word
    for i in range(1, _N):
        word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
        state[i] = word
    state[_N] = _N
    return state


@jit_of_integers
def _words(state: NDArray[np.uint32], n: int) -> NDArray[np.uint64]:
    words = np.empty(n, np.uint64)
    for i in range(n):
        if state[_N] == _N:
            _twist(state)
        y = state[state[_N]]
        state[_N] += np.uint32(1)
        y ^= y >> np.uint32(11)
        y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
        y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
        words[i] = y ^ (y >> np.uint32(18))
    return words


@jit_of_integers
def _twist(state: NDArray[np.uint32]) -> None:
    for i in range(_N):
        low = state[(i + 1) % _N] & np.uint32(0x7FFFFFFF)
        y = (state[i] & np.uint32(0x80000000)) | low
        twisted = state[(i + 397) % _N] ^ (y >> np.uint32(1))
        state[i] = twisted ^ np.uint32(0x9908B0DF) if y & np.uint32(1) else twisted
    state[_N] = 0


@jit
def _cumulative(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    total = 0.0
    for weight in weights:
        total += weight
    steps = np.empty(len(weights))
    running = 0.0
    for i in range(len(weights)):
        running += weights[i] / total
        steps[i] = running
    steps[-1] = 1.0
    return steps


def discrete(rng: Mt19937, weights: NDArray[np.floating]) -> int:
    """Draw an index by weight from two words: std::discrete_distribution<int>.

    Fewer than two weights give 0: libstdc++ then draws nothing, libc++ and Microsoft's library do.
    Weights of any type are normalized and summed in double, and the last step is set to 1. With NaN
    weights the binary search of std::lower_bound (in libc++ std::upper_bound) still ends at a
    defined place; so it is repeated here.
    """
    library = platforms.current().random
    if len(weights) < 2:
        if library != "libstdc++":
            rng.uniform_double()
        return 0
    steps = _cumulative(weights)
    u = rng.uniform_double()
    if library == "libc++":
        return _upper_bound(steps[:-1], u)
    if library == "msvc":
        steps = steps[:-1]
    return _lower_bound(steps, u)


def _lower_bound(steps: NDArray[np.float64], u: float) -> int:
    first, length = 0, len(steps)
    while length > 0:
        half = length >> 1
        if steps[first + half] < u:
            first += half + 1
            length -= half + 1
        else:
            length = half
    return first


def _upper_bound(steps: NDArray[np.float64], u: float) -> int:
    first, length = 0, len(steps)
    while length > 0:
        half = length >> 1
        if u < steps[first + half]:
            length = half
        else:
            first += half + 1
            length -= half + 1
    return first


@jit
def pcg_hash(state: int) -> int:
    """Return the PCG hash of a 32-bit state: one LCG step, then the RXS-M-XS permutation.

    A bijection of 0..2**32 - 1: over all states every word comes exactly once. Source: the PCG
    paper (HMC-CS-2014-0905), RXS-M-XS with 32 bits of state; as a hash on GPUs, JCGT 9(3), 2020.
    """
    mask = np.uint64(0xFFFFFFFF)
    s = (np.uint64(state) * np.uint64(747796405) + np.uint64(2891336453)) & mask
    word = (((s >> ((s >> np.uint64(28)) + np.uint64(4))) ^ s) * np.uint64(277803737)) & mask
    return (word >> np.uint64(22)) ^ word  # type: ignore[return-value]


@jit
def pcg_floats(first: int, n: int) -> NDArray[np.float32]:
    """Return `float(word) / 4294967296.0f` of n states from first on, modulo 2**32: float32[n]. 24
    significant bits; the 128 largest words give 1.0."""
    values = np.empty(n, np.float32)
    for i in range(n):
        values[i] = np.float32(pcg_hash((first + i) & 0xFFFFFFFF)) / np.float32(4294967296.0)
    return values


class Walk(NamedTuple):
    """The data of dist: ids int32[n] as they stand, running float64[n] sums of weights."""

    ids: NDArray[np.int32]
    running: NDArray[np.float64]

    @property
    def p(self) -> NDArray[np.float64]:
        return np.asarray(np.diff(self.running, prepend=0.0) / self.running[-1])

    def tokens(self, u: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the token of each u: the first whose running sum reaches u * total."""
        return np.asarray(self.ids[np.searchsorted(self.running, self.running[-1] * u)])


def walk_of(cand: Candidates) -> Walk:
    """Return dist's own sums, in its arithmetic, over given candidates."""
    running: Any = floats.running_sum(cand.weights(), np.float64)
    return Walk(cand.ids.copy(), running)


def uniforms(rng: Mt19937, n: int) -> NDArray[np.float64]:
    """Return the next n numbers of `rng.uniform_double()`."""
    words = rng.words(2 * n).astype(np.float64)
    return np.minimum((words[0::2] + words[1::2] * 2.0**32) / 2.0**64, _BELOW_ONE)
