"""Xoroshiro128+, the random numbers of tsampler.

Version 1.0 of 2018 (rotations 24, 16, 37), two words of state made from the seed by SplitMix64, the
upper 53 bits of an output as a number in [0, 1).

Readings: the documentation names the algorithm alone. The version, the seeding and the 53 bits are
what the authors of the generator recommend. The seed is any safe integer of JavaScript; Date.now(),
its default, needs 41 bits.
Source: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", arXiv:1805.01407;
    SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
"""

_MASK = 2**64 - 1


class Xoroshiro128Plus:
    def __init__(self, seed: int) -> None:
        """Seed with any integer; its value modulo 2**64 counts."""
        self._s0, self._s1 = split_mix_64(seed, 2)

    @classmethod
    def from_state(cls, s0: int, s1: int) -> "Xoroshiro128Plus":
        """Make a generator in a given state: two words of 64 bits, not both 0."""
        generator = cls(0)
        generator._s0, generator._s1 = s0, s1
        return generator

    def word(self) -> int:
        """Return the next output, 0 <= word < 2**64."""
        s0, s1 = self._s0, self._s1
        result = (s0 + s1) & _MASK
        s1 ^= s0
        self._s0 = _rotated(s0, 24) ^ s1 ^ ((s1 << 16) & _MASK)
        self._s1 = _rotated(s1, 37)
        return result

    def uniform_double(self) -> float:
        """Return next(): a multiple of 2**-53 in [0, 1)."""
        return (self.word() >> 11) * 2.0**-53

    def clone(self) -> "Xoroshiro128Plus":
        """Return a generator that continues this stream on its own."""
        return self.from_state(self._s0, self._s1)


def split_mix_64(seed: int, n: int) -> list[int]:
    """Return the first n outputs of SplitMix64."""
    words, state = [], seed & _MASK
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        words.append(z ^ (z >> 31))
    return words


def _rotated(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & _MASK
