"""Samplers that are wrong in one way, as laws over the tokens in the order of the draw.

They show what the tests catch (`sampler-parity calibrate`); the self-test has mutants of its own.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float64]
Law = NDArray[np.float64]

# Tests of other libraries pass or barely catch these sizes (docs/results/distribution.md).
LOST_MASS = 0.005
BIAS = 0.01
REPEATED = 0.01


def softmax(x: Logits) -> Law:
    """float64[n], sum 1."""
    weights = np.exp(x - x.max())
    return np.asarray(weights / weights.sum())


def hotter(x: Logits) -> Law:
    """Temperature 1.01 for 1."""
    return softmax(x / 1.01)


def lost_tail(x: Logits) -> Law:
    """The least likely tokens are never drawn, up to LOST_MASS of the mass."""
    p = softmax(x)
    order = np.argsort(p)
    lost = order[np.cumsum(p[order]) <= LOST_MASS]
    p[lost] = 0
    return np.asarray(p / p.sum())


def biased_draw(x: Logits) -> Law:
    """The uniform u comes out as u ** (1 + BIAS)."""
    edges = np.cumsum(softmax(x))
    return np.asarray(np.diff((edges / edges[-1]) ** (1 / (1 + BIAS)), prepend=0.0))


def float16_noise(x: Logits) -> Law:
    """The logits were rounded to float16."""
    return softmax(x.astype(np.float16).astype(np.float64))


FAULTS: dict[str, Callable[[Logits], Law]] = {
    "temperature 1% off": hotter,
    "lost tail": lost_tail,
    "biased draw": biased_draw,
    "float16 noise": float16_noise,
}


def shifted(p: Law, tv: float) -> Law:
    """At distance tv from p, spread as thinly as can be: half of the mass up, half down, each token
    by the same factor. Of all laws at this distance chi-square sees this one worst."""
    up = np.cumsum(p) <= 0.5
    high, low = p[up].sum(), p[~up].sum()
    return np.asarray(np.where(up, p * (1 + tv / high), p * (1 - tv / low)))


def disagreement(p: Law, q: Law) -> float:
    """The share of the uniforms for which the two laws, walked in this order, draw other tokens."""
    a, b = np.cumsum(p), np.cumsum(q)
    a, b = a / a[-1], b / b[-1]
    low = np.maximum(np.append(0, a[:-1]), np.append(0, b[:-1]))
    return float(1 - np.maximum(0, np.minimum(a, b) - low).sum())


def repeating(rng: np.random.Generator, p: Law, runs: int, n: int) -> NDArray[np.int32]:
    """int32[runs, n]: with probability REPEATED a draw uses the uniform of the draw before."""
    fresh = np.where(rng.random((runs, n)) < REPEATED, 0, np.arange(n))
    fresh = np.maximum.accumulate(fresh, axis=1)  # where the uniform of each draw was made
    return np.take_along_axis(drawn(rng, p, runs, n), fresh, axis=1)


def drawn(rng: np.random.Generator, p: Law, runs: int, n: int) -> NDArray[np.int32]:
    """int32[runs, n], independent draws from p."""
    edges = np.cumsum(p)
    u = rng.random((runs, n))
    return np.searchsorted(edges[:-1] / edges[-1], u).astype(np.int32)
