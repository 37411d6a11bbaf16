"""Surprisal, entropy and perplexity of tsampler, in double.

    surprisal(token) = log sum exp(x) - x[token]        entropy = log sum exp(x) - sum p x

over the model's logits or over the survivors of filters; in nats, or in bits (nats / ln 2).
Perplexity is exp of the mean surprisal in nats.

Readings: NaN counts as -inf, and a logit of -inf adds nothing to the entropy. The surprisal of a
token of no probability, or of no candidate, is inf. If every logit is -inf the entropy is 0; a
logit of +inf makes both NaN or inf. RollingPerplexity runs over everything added since its start or
reset(); before anything was added ppl() is 1, so that a gate such as `ppl() > 50` does not fire
without evidence.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import v8_math
from sampler_parity.engines.tsampler.model.history import Row
from sampler_parity.reference import floats

Base = Literal["nats", "bits"]
_LN2 = float(np.log(2.0))  # Math.LN2


def _in_base(nats: float, base: Base) -> float:
    return nats / _LN2 if base == "bits" else nats


def _log_sum_exp(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return max + log(sum(exp(x - max))), and exp(x - max)."""
    top = x.max()
    with np.errstate(invalid="ignore"):
        e = np.where(x == top, 1.0, v8_math.exp(x - top))
    return float(top + v8_math.log(floats.total(e))), e


def _finite_or_banned(logits: Row) -> NDArray[np.float64]:
    return np.where(np.isnan(logits), -np.inf, logits).astype(np.float64)


def model_surprisal(logits: Row, token: int, base: Base = "nats") -> float:
    """Return the surprisal of a token among all logits. Raises IndexError for one outside."""
    if not 0 <= token < len(logits):
        raise IndexError(f"token {token} is not in 0..{len(logits) - 1}")
    x = _finite_or_banned(logits)
    if x[token] == -np.inf:
        return float("inf")
    return _in_base(_log_sum_exp(x)[0] - float(x[token]), base)


def sampling_surprisal(logits: Row, ids: Any, token: int, base: Base = "nats") -> float:
    """Return the surprisal of a token among the candidates ids with these logits."""
    at = np.flatnonzero(np.asarray(ids) == token)
    return model_surprisal(logits, int(at[0]), base) if len(at) else float("inf")


def entropy(logits: Row, base: Base = "nats") -> float:
    """Return the entropy of all logits (computeModelEntropy) or of candidates
    (computeSamplingEntropy)."""
    x = _finite_or_banned(logits)
    if len(x) == 0 or x.max() == -np.inf:
        return 0.0
    lse, e = _log_sum_exp(x)
    with np.errstate(invalid="ignore"):
        terms = np.where(e > 0, e * x, 0.0)
    return _in_base(lse - float(floats.total(terms)) / float(floats.total(e)), base)


@dataclass
class RollingPerplexity:
    """exp of the mean of the surprisals added, in nats."""

    _sum: float = 0.0
    count: int = 0

    def add_surprisal(self, nats: float) -> None:
        self._sum += nats
        self.count += 1

    def ppl(self) -> float:
        return float(v8_math.exp(self._sum / self.count)) if self.count else 1.0

    def reset(self) -> None:
        self._sum, self.count = 0.0, 0
