"""A mistake in each of the twelve samplers, and words that `check` must print about it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.functions.right_functions import RIGHT, Row, descending, only, softmax


def top_k(logits: Row, k: int) -> Row:
    if k <= 0:
        return logits
    return np.where(logits >= np.sort(logits)[-min(k, len(logits))], logits, -np.inf)


def top_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    if p >= 1:
        return logits
    order = descending(logits)
    crossing = int((np.cumsum(softmax(logits)[order]) < p).sum())
    return only(logits, order[: max(crossing, min_keep, 1)])


def min_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    return RIGHT["min_p"](logits, p, 0)


def typical_p(logits: Row, p: float, min_keep: int = 0) -> Row:
    if p >= 1:
        return logits
    shares = softmax(logits)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = -np.log(shares)
        distance = abs(surprise - np.nansum(shares * surprise) / np.log(2))
    order = np.argsort(distance, kind="stable")
    crossing = int((np.cumsum(shares[order]) <= p).sum())
    return only(logits, order[: max(crossing + 1, min_keep)])


def xtc(logits: Row, rng: np.random.Generator, p: float, t: float, min_keep: int = 0) -> Row:
    if p <= 0 or t > 0.5 or len(logits) < 2 or rng.random() > p:
        return logits
    top = int((softmax(logits) >= t).sum())
    if top < 2 or len(logits) - top < max(1, min_keep):
        return logits
    return only(logits, descending(logits)[top:])


def top_n_sigma(logits: Row, n: float) -> Row:
    if n <= 0 or len(logits) < 2:
        return logits
    finite = logits[logits != -np.inf].astype(np.float64)
    deviation = finite.std(ddof=1) if len(finite) > 1 else 0.0
    return np.where(logits >= logits.max() - n * deviation, logits, -np.inf)


def temp(logits: Row, temp: float) -> Row:
    return logits / np.float32(temp) if temp > 0 else logits


def temp_ext(logits: Row, temp: float, delta: float = 0, exponent: float = 1) -> Row:
    if delta <= 0:
        return RIGHT["temp"](logits, temp)
    if len(logits) < 2:
        return logits
    shares = softmax(logits)[softmax(logits) > 0]
    share = -(shares * np.log(shares)).sum() / np.log(len(logits))
    return RIGHT["temp"](logits, temp - delta + 2 * delta * share**exponent)


def penalties(logits: Row, tokens: Row, penalty_last_n: int, **values: float) -> Row:
    values["penalty_freq"] += values.pop("penalty_present")
    return RIGHT["penalties"](logits, tokens, penalty_last_n, **values)


def logit_bias(logits: Row, logit_bias: Sequence[tuple[int, float]]) -> Row:
    return RIGHT["logit_bias"](logits, [*dict(logit_bias).items()])


def greedy(logits: Row) -> int:
    return int(abs(logits).argmax())


def dist(logits: Row, rng: np.random.Generator) -> int:
    return int(rng.choice(len(logits), p=softmax(logits / 1.5)))


WRONG: dict[str, Callable[..., Any]] = {name: globals()[name] for name in RIGHT}

WORDS = {
    "top_k": "more than k allows",
    "top_p": "the token that crosses p is dropped",
    "min_p": "min_keep is ignored",
    "typical_p": "the entropy is in bits, the surprise is not",
    "xtc": "all tokens with p >= t go",
    "top_n_sigma": "the variance is divided by one less",
    "temp": "temp <= 0 changes nothing",
    "temp_ext": "temp - delta may be negative",
    "penalties": "penalty_present is subtracted once per occurrence",
    "logit_bias": "only the last is added",
    "greedy": "the logit of the largest size is selected",
    "dist": "of another distribution",
}
