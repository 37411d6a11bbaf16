"""Samplers that are wrong in one way, as distributions over the tokens in the order of the draw.

They show what the tests catch (`sampler-parity calibrate`); the self-test has mutants of its own.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float64]
Distribution = NDArray[np.float64]

# Tests of other libraries pass or barely catch these sizes (docs/results/distribution.md).
LOST_MASS = 0.005
BIAS = 0.01
REPEATED = 0.01


def softmax(x: Logits) -> Distribution:
    """Return float64[n], sum 1."""
    weights = np.exp(x - x.max())
    return np.asarray(weights / weights.sum())


def hotter(x: Logits) -> Distribution:
    """Use temperature 1.01 for 1."""
    return softmax(x / 1.01)


def lost_tail(x: Logits) -> Distribution:
    """Drop the least likely tokens, up to LOST_MASS of the mass."""
    p = softmax(x)
    order = np.argsort(p)
    lost = order[np.cumsum(p[order]) <= LOST_MASS]
    p[lost] = 0
    return np.asarray(p / p.sum())


def biased_draw(x: Logits) -> Distribution:
    """Change the uniform u to u ** (1 + BIAS)."""
    edges = np.cumsum(softmax(x))
    return np.asarray(np.diff((edges / edges[-1]) ** (1 / (1 + BIAS)), prepend=0.0))


def float16_noise(x: Logits) -> Distribution:
    """Round the logits to float16."""
    return softmax(x.astype(np.float16).astype(np.float64))


FAULTS: dict[str, Callable[[Logits], Distribution]] = {
    "temperature 1% off": hotter,
    "lost tail": lost_tail,
    "biased draw": biased_draw,
    "float16 noise": float16_noise,
}


def shifted(p: Distribution, tv: float) -> Distribution:
    """Return a distribution at distance tv from p, spread as thinly as can be: half of the mass up,
    half down, each token by the same factor. Chi-square sees this one worst at this distance."""
    up = np.cumsum(p) <= 0.5
    high, low = p[up].sum(), p[~up].sum()
    return np.asarray(np.where(up, p * (1 + tv / high), p * (1 - tv / low)))


def disagreement(p: Distribution, q: Distribution) -> float:
    """Return the share of the uniforms for which the two distributions, walked in this order, draw
    other tokens."""
    a, b = np.cumsum(p), np.cumsum(q)
    a, b = a / a[-1], b / b[-1]
    low = np.maximum(np.append(0, a[:-1]), np.append(0, b[:-1]))
    return float(1 - np.maximum(0, np.minimum(a, b) - low).sum())


def repeating(rng: np.random.Generator, p: Distribution, runs: int, n: int) -> NDArray[np.int32]:
    """Draw int32[runs, n]; with probability REPEATED a draw uses the uniform of the draw before."""
    fresh = np.where(rng.random((runs, n)) < REPEATED, 0, np.arange(n))
    fresh = np.maximum.accumulate(fresh, axis=1)  # where the uniform of each draw was made
    return np.take_along_axis(drawn(rng, p, runs, n), fresh, axis=1)


def drawn(rng: np.random.Generator, p: Distribution, runs: int, n: int) -> NDArray[np.int32]:
    """Draw int32[runs, n] independently from p."""
    edges = np.cumsum(p)
    u = rng.random((runs, n))
    return np.searchsorted(edges[:-1] / edges[-1], u).astype(np.int32)
