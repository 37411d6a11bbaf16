"""power_law: favour tokens whose probability is near a target that follows the history; draw.

    p      = softmax of the candidates as they stand
    target'= target without a history, else
             clamp(target * queue_size - sum of the newest queue_size - 1 of the history,
                   min_target, max_target)

    l_i    = peak_logit_value / (1 + (|p_i - target'| / distribution_width) ^ tail_heaviness)
    p'     = softmax(l);   draw;   the history gets p, not p', of the token drawn

adaptive_p of llama.cpp is based on it. Here the history moves with the draw, not with accept; the
weight of a token far from the target tends to exp(0), not to 0. Must be the last stage. All
float32; the draw is std::discrete_distribution.

Parameters:
    target:             float32 in 0..1.
    distribution_width: float32, not negative. Up to 2**-23 (FLT_EPSILON) the token nearest to the
                        target gets the peak and every other -100.
    tail_heaviness:     float32, exponent of the distance; typically 1..10.
    queue_size:         how many draws are remembered, at least 1.
    peak_logit_value:   float32; typically 5..20.
    min_target, max_target:  float32, bounds of target' once there is a history.
    seed:               uint32; 4294967295 takes a random one.
Ties: candidates keep their order; nothing is sorted. The first of equally near tokens is the
    nearest.
Edges: -inf has p = 0, is transformed like any other and becomes possible again. One candidate draws
    nothing and is remembered. NaN: every p is NaN. None: refused (llama.cpp aborts).
Readings of the text, where it is silent or gives ranges: "sum_excluding_oldest" is written as
    history[0..queue_size - 2], which under its push_back leaves out the newest; the name is
    followed (docs/findings/power-law.md has both). While the history is shorter than
    queue_size the formula stays as written, with queue_size and the draws so far. The peak is 10
    and the bounds 0 and 1 unless given. Accept does nothing. A clone goes on with history and
    random stream.
Source: the documentation of llama_sampler_power_law_apply, v1.0.
Suite: engines/power_law/suites/power_law/power_law.toml
"""

from collections import deque
from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, integer, uint32
from sampler_parity.reference.random import Mt19937, discrete

FLT_EPSILON = np.float32(2.0**-23)
FAR_LOGIT = -100

PRESETS: dict[str, dict[str, float]] = {
    "creative_writing": {
        "target": 0.12, "distribution_width": 0.08, "tail_heaviness": 3.0, "queue_size": 20,
    },
    "code_completion": {
        "target": 0.25, "distribution_width": 0.15, "tail_heaviness": 2.0, "queue_size": 10,
    },
    "dialogue": {
        "target": 0.15, "distribution_width": 0.10, "tail_heaviness": 4.0, "queue_size": 30,
        "min_target": 0.05, "max_target": 0.40,
    },
    "mostly_greedy": {
        "target": 0.60, "distribution_width": 0.20, "tail_heaviness": 2.0, "queue_size": 5,
    },
}  # fmt: skip


class PowerLaw(Copied):
    name = "power_law"

    def __init__(
        self,
        target: Any,
        distribution_width: Any,
        tail_heaviness: Any,
        queue_size: Any,
        seed: Any,
        peak_logit_value: Any = 10.0,
        min_target: Any = 0.0,
        max_target: Any = 1.0,
    ) -> None:
        self.target = _probability("target", target)
        self.distribution_width = float32("distribution_width", distribution_width)
        if self.distribution_width < 0:
            raise ChainError(f"distribution_width must not be negative, got {distribution_width}")
        self.tail_heaviness = float32("tail_heaviness", tail_heaviness)
        self.queue_size = integer("queue_size", queue_size, 1, 2**31 - 1)
        self.peak_logit_value = float32("peak_logit_value", peak_logit_value)
        self.min_target = _probability("min_target", min_target)
        self.max_target = _probability("max_target", max_target)
        if self.min_target > self.max_target:
            raise ChainError(f"min_target {min_target} must not exceed max_target {max_target}")
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)
        self.history: deque[Any] = deque(maxlen=self.queue_size)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=False)
        original = cand.p
        cand.logits = self.reshaped(original, self.computed_target(original.dtype.type))
        cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)
        self.history.append(original[cand.selected])

    def computed_target(self, kind: Any = np.float32) -> Any:
        """Return the target of the next draw; kind is the type to compute in."""
        if not self.history:
            return kind(self.target)
        newest = list(self.history)[max(0, len(self.history) - self.queue_size + 1) :]
        total = kind(0)
        for p in newest:
            total += kind(p)
        following = kind(self.target) * kind(self.queue_size) - total
        return max(kind(self.min_target), min(following, kind(self.max_target)))

    def reshaped(self, p: FloatArray, target: Any) -> FloatArray:
        """Return the new logits."""
        kind = p.dtype.type
        distance = abs(p - target)
        peak = kind(self.peak_logit_value)
        if self.distribution_width <= FLT_EPSILON:
            logits = np.full_like(p, FAR_LOGIT)
            logits[floats.first_largest(-distance)] = peak
            return logits
        normalized = distance / kind(self.distribution_width)
        return peak / (kind(1) + floats.powers(normalized, kind(self.tail_heaviness)))  # type: ignore[no-any-return]

    def reset(self) -> None:
        self.history.clear()
        self.rng.seed(self.seed)


def _probability(name: str, value: Any) -> np.float32:
    number = float32(name, value)
    if not 0 <= number <= 1:
        raise ChainError(f"{name} must be in 0..1, got {value}")
    return number


STAGES = {"power_law": PowerLaw}
