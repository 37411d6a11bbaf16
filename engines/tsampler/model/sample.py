"""sampleWithStrategy, greedy and getTopCandidates of tsampler.

    penalties -> top-k -> typical-p -> top-p -> min-p -> top-n-sigma -> temperature -> draw

Greedy instead, with penalties and without a random number, if temp < 1e-3 or top_k = 1.

Modes: `fast` cuts to the 256 largest (512 with typical-p) if top_k is 0; `parity` takes the whole
vocabulary then. With any other top_k both do the same.

Readings, where the documentation contradicts itself: top-k stands before typical-p ("chain order
NEVER changes"), so a top_k of 40 leaves typical-p 40 candidates and the pool of 512 only matters at
top_k = 0. The signature with an options object is taken, not that of the migration guide. A top_k
below 0 counts as 0.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import v8_math
from sampler_parity.engines.tsampler.model import filters
from sampler_parity.engines.tsampler.model.history import (
    PenaltyParams,
    Row,
    TokenHistoryTracker,
    apply_penalties,
)
from sampler_parity.engines.tsampler.model.workspace import DEFAULT_KCAP, TYPICAL_P_KCAP
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates

Mode = Literal["fast", "parity"]
GREEDY_BELOW = 1e-3


@dataclass(frozen=True)
class SamplingParams:
    """The documented defaults; penalty_repeat is 1.1, where llama.cpp's is 1."""

    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    top_n_sigma: float = -1.0
    temp: float = 0.8
    penalty_repeat: float = 1.1
    penalty_freq: float = 0.0
    penalty_present: float = 0.0

    @property
    def penalties(self) -> PenaltyParams:
        return PenaltyParams(self.penalty_repeat, self.penalty_freq, self.penalty_present)

    @property
    def is_greedy(self) -> bool:
        return self.temp < GREEDY_BELOW or self.top_k == 1


def pool_size(params: SamplingParams, mode: Mode) -> int:
    """Return the k of the first cut; 0 for none."""
    if params.top_k > 0:
        return params.top_k
    if mode == "parity":
        return 0
    return TYPICAL_P_KCAP if params.typical_p < 1 else DEFAULT_KCAP


def filtered(
    logits: Row, history: TokenHistoryTracker, params: SamplingParams, mode: Mode
) -> Candidates:
    """Return the candidates to draw from. The given logits are not modified."""
    cand = filters.candidates_from_logits(penalized(logits, history, params))
    filters.top_k(cand, pool_size(params, mode))
    filters.typical_p(cand, params.typical_p)
    filters.top_p(cand, params.top_p)
    filters.min_p(cand, params.min_p)
    filters.top_n_sigma(cand, params.top_n_sigma)
    filters.temperature(cand, params.temp)
    return cand


def sample_with_strategy(
    logits: Row,
    history: TokenHistoryTracker,
    rng: Xoroshiro128Plus,
    params: SamplingParams = SamplingParams(),
    mode: Mode = "fast",
) -> int:
    """Return the id of the token chosen. logits float32[n_vocab], n_vocab > 0, not modified.

    Draws one number from rng unless it is greedy. Raises ValueError if every token is banned.
    """
    if params.is_greedy:
        return greedy(penalized(logits, history, params))
    cand = filtered(logits, history, params, mode)
    return int(cand.ids[filters.sample_from_set(cand, rng.uniform_double())])


def penalized(logits: Row, history: TokenHistoryTracker, params: SamplingParams) -> Row:
    """Return a copy of the logits with the penalties, as the accessor shows them."""
    copy = np.array(logits, np.float32)
    if params.penalties.any:
        apply_penalties(copy, history, params.penalties)
    return copy


def greedy(logits: Row) -> int:
    """Return the id of the first largest logit; NaN counts as -inf."""
    return int(np.where(np.isnan(logits), -np.inf, logits).argmax())


def top_candidates(logits: Row, n: int = 10) -> list[tuple[int, float]]:
    """Return the n likeliest tokens with their probability in the whole vocabulary, in double."""
    values = np.where(np.isnan(logits), -np.inf, logits).astype(np.float64)
    order = np.argsort(-values, kind="stable")[: max(0, n)]
    return [
        (int(token), float(p)) for token, p in zip(order, probabilities(values)[order], strict=True)
    ]


def probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the softmax in double: exp(x - max) / sum; zeros if every value is -inf."""
    top = values.max()
    if top == -np.inf:
        return np.zeros_like(values)
    with np.errstate(invalid="ignore"):
        e = np.where(values == top, 1.0, v8_math.exp(values - top))
    result: NDArray[np.float64] = e / floats.total(e)
    return result
