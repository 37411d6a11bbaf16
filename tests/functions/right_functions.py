"""Twelve samplers in a few lines of NumPy each, as people write them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Row = Any  # float[n]


def softmax(logits: Row) -> Row:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def descending(logits: Row) -> Row:
    return np.argsort(-logits, kind="stable")


def only(logits: Row, places: Any) -> Row:
    """Return the logits with -inf at all other places."""
    left = np.full_like(logits, -np.inf)
    left[places] = logits[places]
    return left


def top_k(logits: Row, k: int) -> Row:
    return only(logits, descending(logits)[:k]) if k > 0 else logits


def top_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    if p >= 1:
        return logits
    order = descending(logits)
    crossing = int((np.cumsum(softmax(logits)[order]) < p).sum())
    return only(logits, order[: max(crossing + 1, min_keep)])


def min_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    if p <= 0:
        return logits
    order = descending(logits)
    passing = int((logits >= logits.max() + np.log(p)).sum())
    return only(logits, order[: max(passing, min_keep, 1)])


def typical_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    if p >= 1:
        return logits
    shares = softmax(logits)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = -np.log(shares)
        distance = abs(surprise - np.nansum(shares * surprise))
    order = np.argsort(distance, kind="stable")
    crossing = int((np.cumsum(shares[order]) <= p).sum())
    return only(logits, order[: max(crossing + 1, min_keep)])


def xtc(logits: Row, rng: np.random.Generator, p: float, t: float, min_keep: int = 0) -> Row:
    if p <= 0 or t > 0.5 or len(logits) < 2 or rng.random() > p:
        return logits
    order = descending(logits)
    top = int((softmax(logits) >= t).sum())
    if top < 2 or len(logits) - top + 1 < min_keep:
        return logits
    return only(logits, order[top - 1 :])


def top_n_sigma(logits: Row, n: float) -> Row:
    if n <= 0 or len(logits) < 2:
        return logits
    deviation = logits[logits != -np.inf].astype(np.float64).std()
    return np.where(logits >= logits.max() - n * deviation, logits, -np.inf)


def temp(logits: Row, temp: float) -> Row:
    return logits / np.float32(temp) if temp > 0 else only(logits, [int(logits.argmax())])


def temp_ext(logits: Row, temp: float, delta: float = 0, exponent: float = 1) -> Row:
    if delta <= 0:
        return RIGHT["temp"](logits, temp)
    if len(logits) < 2:
        return logits
    shares = softmax(logits)[softmax(logits) > 0]
    share = -(shares * np.log(shares)).sum() / np.log(len(logits))
    low = max(0.0, temp - delta)
    return RIGHT["temp"](logits, low + (temp + delta - low) * share**exponent)


def penalties(
    logits: Row,
    tokens: Row,
    penalty_last_n: int,
    penalty_repeat: float = 1,
    penalty_freq: float = 0,
    penalty_present: float = 0,
) -> Row:
    window = tokens[-penalty_last_n:] if penalty_last_n > 0 else tokens[:0]
    inside = (window >= 0) & (window < len(logits))
    ids, counts = np.unique(window[inside], return_counts=True)
    left = logits.astype(np.float64)
    old = left[ids]
    scaled = np.where(old <= 0, old * penalty_repeat, old / penalty_repeat)
    left[ids] = scaled - counts * penalty_freq - penalty_present
    return left


def logit_bias(logits: Row, logit_bias: Sequence[tuple[int, float]]) -> Row:
    left = logits.astype(np.float64)
    for token, bias in logit_bias:
        if 0 <= token < len(left):
            left[token] += bias
    return left


def greedy(logits: Row) -> int:
    return int(logits.argmax())


def dist(logits: Row, rng: np.random.Generator) -> int:
    return int(rng.choice(len(logits), p=softmax(logits)))


RIGHT: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(top_k, top_p, min_p, typical_p, xtc, top_n_sigma, temp, temp_ext, penalties),
        *(logit_bias, greedy, dist),
    )
}
