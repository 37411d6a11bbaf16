"""The exact distributions of Akunu's two draws: the share of all random words for each token.

Both draws take finitely many random numbers, so nothing is sampled here: words are counted. The
Gumbel path assumes that the words of different tokens are independent. Over all 2**32 states each
word comes exactly once (`pcg_hash` is a bijection), so the noise of one token is exact.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model.gumbel_max import U_MAX, U_MIN, gumbel
from sampler_parity.reference.compiled import jit

WORDS = 2.0**32
NEGLIGIBLE = -60.0  # exp of it is 1e-26

Distribution = NDArray[np.float64]


def words_up_to(u: NDArray[np.float32]) -> NDArray[np.float64]:
    """Count the 32-bit words for which float32(word) / 2**32 is at most u, 0 <= u <= 1.

    Words round to the nearest float32, halfway cases to the even one.
    """
    at = np.asarray(u, np.float32) * np.float32(WORDS)
    even = at.view(np.uint32) % 2 == 0
    halfway = np.spacing(at).astype(np.float64) / 2
    below = np.floor(at.astype(np.float64) + halfway)
    count = np.where((halfway < 1) | even, below + 1, below)
    return np.where(at >= np.float32(WORDS), WORDS, count)


def cpu_distribution(p: NDArray[np.float32]) -> Distribution:
    """Return the probability of each candidate in the CDF walk over renormalized p, in order."""
    reached = np.minimum(np.add.accumulate(p, dtype=np.float32), np.float32(1))
    below_one = np.nextafter(np.float32(1), np.float32(0))
    count = np.where(reached >= below_one, WORDS, words_up_to(reached))
    count[-1] = WORDS  # the fallback to the last candidate
    return np.diff(count, prepend=0.0) / WORDS


def gumbel_distribution(logits: NDArray[np.float32], temperature: float) -> Distribution:
    """Return the probability of each token on the float16 path. logits: float32[n], -inf if
    filtered; temperature > 0.

    P(i) = sum over float16 v of P(x_i = v) prod_{j < i} P(x_j < v) prod_{j > i} P(x_j <= v)
    """
    x = np.asarray(logits, np.float32)
    t = np.float32(temperature)
    alive = np.flatnonzero(x != -np.inf)
    kinds, kind = np.unique(x[alive], return_inverse=True)
    low, high = (np.float16(kinds[-1] + t * g) for g in gumbel(np.array([U_MIN, U_MAX])))
    log_cdf = _log_cdf(kinds, t, *_roundings(_halves(low, high)))
    distribution = np.zeros(len(x))
    distribution[alive] = _wins(log_cdf, kind.astype(np.int64))
    return distribution


def _halves(low: np.float16, high: np.float16) -> NDArray[np.float16]:
    """Return all float16 in low..high, ascending; -0 and 0 are one value."""
    positive = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    both = np.concatenate([-positive[:0:-1], positive])
    return both[(both >= low) & (both <= high)]


def _roundings(v: NDArray[np.float16]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the float32 up to which numbers round to at most v, and whether it does, too."""
    up = np.nextafter(v, np.float16(np.inf)).astype(np.float32)
    halfway = np.asarray((v.astype(np.float32) + up) / 2, np.float32)
    return halfway, np.asarray(v.view(np.uint16) % 2 == 0)


@jit
def _noisy(word: int, x: Any, temperature: Any) -> Any:
    """Return akunu_gumbel's sum before it is stored as float16. It rises with the word."""
    u = min(max(np.float32(word) / np.float32(4294967296.0), U_MIN), U_MAX)
    return x + temperature * -np.float32(math.log(-np.float32(math.log(u))))


@jit
def _log_cdf(kinds: Any, temperature: Any, bounds: Any, inclusive: Any) -> Any:
    """Return float64[kinds, values]: log of the share of words that give at most each value."""
    log_cdf = np.empty((len(kinds), len(bounds)))
    for a in range(len(kinds)):
        at_least = 0
        for b in range(len(bounds)):
            low, high = at_least, 1 << 32
            while low < high:
                middle = (low + high) // 2
                y = _noisy(middle, kinds[a], temperature)
                if y < bounds[b] or (y == bounds[b] and inclusive[b]):
                    low = middle + 1
                else:
                    high = middle
            at_least = low
            share_above = (4294967296 - low) / 4294967296.0
            log_cdf[a, b] = math.log1p(-share_above) if low > 0 else -1e300
    return log_cdf


@jit
def _wins(log_cdf: Any, kind: Any) -> Any:
    """Return float64[n]: the probability that token i has the first largest value."""
    distribution = np.zeros(len(kind))
    n_values = log_cdf.shape[1]
    for b in range(n_values):
        behind = 0.0
        for k in kind:
            behind += log_cdf[k, b]
        if behind < NEGLIGIBLE:
            continue
        before = 0.0
        for i in range(len(kind)):
            at_most = log_cdf[kind[i], b]
            below = log_cdf[kind[i], b - 1] if b > 0 else -1e300
            behind -= at_most
            if before + behind > NEGLIGIBLE:
                distribution[i] += (math.exp(at_most) - math.exp(below)) * math.exp(before + behind)
            before += below
    return distribution


def atoms(lowest: float) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the clamped uniforms from about `lowest` up, each once, with the share of words at most
    it.

    lowest >= 2**-8. In blocks, ascending; the first block may begin below.
    """
    for exponent in range(-8, 0):
        if 2.0 ** (exponent + 1) <= lowest:
            continue
        u = (np.arange(2**23, 2**24) * 2.0 ** (exponent - 23)).astype(np.float32)
        u = u[(u >= lowest) & (u <= U_MAX)]
        if len(u) == 0:
            return
        share = words_up_to(u) / WORDS
        share[u == U_MAX] = 1.0
        yield u.astype(np.float64), share


def tail_probability(depth: float) -> float:
    """Return the probability of a token of probability exp(-depth), depth >= 6, under float32
    noise. The other tokens are continuous. The noise is exact; log and sum are not rounded."""
    rest = math.log1p(-math.exp(-depth))
    total, before = 0.0, None
    for u, share in atoms(max(2.0**-8, 1 - math.exp(4.2 - depth))):
        mass = np.diff(share, prepend=share[0] if before is None else before)
        reach = -np.log(-np.log(u)) - depth - rest
        total += float((mass * np.exp(-np.exp(-reach))).sum())
        before = share[-1]
    return total


def first_share_of_equal(n: int, first: int) -> float:
    """Return the probability that one of the `first` tokens of n >= 16 equal ones wins. float32
    noise at logit 0: ties of u go to the lowest id. Without ties it is first / n."""
    total, before = 0.0, None
    for _, share in atoms(max(2.0**-8, math.exp(NEGLIGIBLE / n))):
        below = np.concatenate([[share[0] if before is None else before], share[:-1]])
        total += float((share ** (n - first) * (share**first - below**first)).sum())
        before = share[-1]
    return total
