"""akunu: the CPU pipeline of the Akunu engine, logits to token in one stage.

    l      = float16 of the logits; every occurrence of a token in the history:
             l > 0 ? l / repeat_penalty : l * repeat_penalty

    l     *= 1 / temperature;   p = exp(l - max) * (1 / sum)          over the whole vocabulary
    keep:  the top_k of largest p (std::partial_sort), then up to the first p < p_max * min_p,
           then up to and with the one where the running sum of p reaches top_p

    p     *= 1 / sum of the survivors;   token = first with r <= running sum of p, else the last

It differs from llama.cpp's chain: the temperature comes before the filters, a token counts once for
each occurrence, top_p sums the mass in the whole vocabulary, and there is always a top-k.

Parameters:
    temperature     float32. <= 0: the first largest logit; nothing is filtered or drawn.
    top_k           int32. <= 0, or the size of the vocabulary or more: 256.
    top_p           float32. 1 and more disables.
    min_p           float32. 0 and less disables.
    repeat_penalty  float32. 1 disables.
    seed            uint32 of std::mt19937; 4294967295 takes a random one.
    logits          "f16": rounded to float16 and penalized. "f32", the overload for grammars:
                    neither, and no scaling where temperature is 1.
Ties: std::partial_sort's order of equal p.
Edges: -inf and underflow get p = 0 and stay candidates if top_k is large enough. The last
    candidate, drawn if rounding leaves the sum below r, may be one of them. The float32 r is
    a multiple of 2**-32 below 1/256 and of 2**-24 above 1/2. No candidate, NaN, +inf and all -inf:
    refused (undefined in C++, or NaN sorted). The candidates must be the whole vocabulary: akunu is
    the only stage.
Readings of the text, where it is silent: the history is every accepted token, prompt included. The
    f32 overload is greedy at temperature <= 0, too. Uniform float and sort are libstdc++'s.
Source: the Akunu book, chapter "The Sampling Pipeline" (sample_logits, src/inference/sampling.cpp).
Suite: engines/akunu/suites/akunu/akunu.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, int32, uint32
from sampler_parity.reference.random import Mt19937

DEFAULT_CAP = 256

PRESETS: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0.0},
    "balanced": {"temperature": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0.05},
    "creative": {"temperature": 1.0, "top_k": 0, "top_p": 0.9, "min_p": 0.0},
    "very_creative": {"temperature": 1.2, "top_k": 0, "top_p": 0.95, "min_p": 0.0},
    "code": {"temperature": 0.2, "top_k": 40, "top_p": 0.95, "min_p": 0.1},
}


class Akunu(Copied):
    name = "akunu"

    def __init__(
        self,
        seed: Any,
        temperature: Any = 0.0,
        top_k: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
        repeat_penalty: Any = 1.0,
        logits: Any = "f16",
    ) -> None:
        if logits not in ("f16", "f32"):
            raise ChainError(f'logits must be "f16" or "f32", got {logits!r}')
        self.temperature = float32("temperature", temperature)
        self.top_k = int32("top_k", top_k)
        self.top_p = float32("top_p", top_p)
        self.min_p = float32("min_p", min_p)
        self.repeat_penalty = float32("repeat_penalty", repeat_penalty)
        self.logits = str(logits)
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)
        self.prev_tokens: list[int] = []

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        require_vocabulary(cand)
        if self.logits == "f16":
            cand.logits = to_half(cand.logits)
            penalize(cand.logits, self.prev_tokens, self.repeat_penalty)
        if self.temperature <= 0:
            cand.selected = floats.first_largest(cand.logits)
            return
        if self.logits == "f16" or self.temperature != 1:
            cand.logits = cand.logits * inverse(self.temperature, cand.logits)
        cand.p = softmax(cand.logits)
        cand.keep(sorting.std_partial_sort(cand.p, effective_k(self.top_k, len(cand))))
        cand.keep(slice(0, self._min_p_cut(cand.p)))
        cand.keep(slice(0, top_p_cut(cand.p, self.top_p)))
        cand.p = cand.p * inverse(floats.total(cand.p), cand.p)
        cand.selected = walk(cand.p, self.rng.uniform_float())

    def _min_p_cut(self, p: FloatArray) -> int:
        """Count the tokens before the first that is below the threshold; the likeliest always
        stays."""
        if self.min_p <= 0:
            return len(p)
        below = p < p[0] * p.dtype.type(self.min_p)
        below[0] = False  # the loop starts at 1: min_p above 1 keeps one
        return int(below.argmax()) if below.any() else len(p)

    def accept(self, token: int) -> None:
        self.prev_tokens.append(token)

    def reset(self) -> None:
        self.prev_tokens = []
        self.rng.seed(self.seed)


def require_vocabulary(cand: Candidates) -> None:
    """Raise UndefinedInputError unless the candidates are a whole vocabulary without NaN."""
    if len(cand) == 0:
        raise UndefinedInputError("akunu reads logits[0]: it needs a vocabulary")
    if not np.array_equal(cand.ids, np.arange(len(cand))):
        raise UndefinedInputError("akunu takes the whole vocabulary in order: no stage before it")
    if np.isnan(cand.logits).any():
        raise UndefinedInputError("a logit is NaN: sorting its probability is undefined")


@np.errstate(over="ignore")
def to_half(logits: FloatArray) -> FloatArray:
    """Round to float16, as the GPU left them, and widen again: beyond 65519 it is infinite."""
    return logits.astype(np.float16).astype(logits.dtype)


def penalize(logits: FloatArray, prev_tokens: list[int], repeat_penalty: Any) -> None:
    """Penalize in place, once per occurrence; tokens outside the vocabulary are skipped."""
    penalty = logits.dtype.type(repeat_penalty)
    if penalty == 1:
        return
    for token in prev_tokens:
        if 0 <= token < len(logits):
            value = logits[token]
            logits[token] = value / penalty if value > 0 else value * penalty


def inverse(value: Any, like: FloatArray) -> Any:
    """Return 1 / value, in the type of the array that it is to multiply."""
    kind = like.dtype.type
    return kind(1) / kind(value)


def softmax(logits: FloatArray) -> FloatArray:
    """Multiply exp(l - max) by 1 / sum: no division. Raises UndefinedInputError if that is NaN."""
    p = floats.exp(logits - floats.largest(logits))
    p *= inverse(floats.total(p), p)
    if np.isnan(p).any():
        raise UndefinedInputError("a probability is NaN: all logits -inf, or one +inf")
    return p  # type: ignore[no-any-return]


def effective_k(top_k: int, n: int) -> int:
    return top_k if 0 < top_k < n else min(n, DEFAULT_CAP)


def top_p_cut(p: FloatArray, top_p: Any) -> int:
    """Count how many of the descending p it takes to reach top_p."""
    kind = p.dtype.type
    if kind(top_p) >= 1:
        return len(p)
    reached = floats.running_sum(p) >= kind(top_p)
    return int(reached.argmax()) + 1 if reached.any() else len(p)


def walk(p: FloatArray, r: Any) -> int:
    """Return the first index where r <= running sum; the last if rounding keeps the sum below r."""
    reached = p.dtype.type(r) <= floats.running_sum(p)
    return int(reached.argmax()) if reached.any() else len(p) - 1
