"""akunu_gumbel: the GPU path of the Akunu engine: Gumbel noise and argmax in the place of a draw.

    l      as in akunu: float16 of the logits, penalized; what top_k, min_p or top_p removes is -inf
    u_i    = clamp(pcg_float((position + seed_offset) * 2654435761 + i), 1e-7, 1 - 1e-7)
    l_i    = float16(l_i + temperature * -log(-log(u_i)));   token = the first largest

The noise is a hash without state: the same position and offset give the same noise, whatever the
generation. Every position reads a window of one fixed sequence of 2**32 numbers.

Parameters: as akunu's, without its seed and logits.
    seed_offset:    uint32; Akunu takes it from the clock, once for a generation.
    position:       uint32 of the first token sampled; every token sampled moves it on by one.
    noise:          "f16": the sum is stored as float16, as on the GPU. "f32": it is not.
Ties: equal values of the sum: the lowest id. The filters cut at a value: all that equal the last
    survivor stay, too, so there may be more than top_k (akunu keeps exactly as many).
Edges: u is at most 1 - 2**-23, so the noise lies in -2.78..15.95: a token more than
    18.73 * temperature below the largest is never drawn. -inf stays -inf. temperature <= 0: the
    first largest logit. Refused as akunu: no candidate, NaN, all -inf, +inf, anything but the whole
    vocabulary.
Readings of the text, where it is silent: the filters see the probabilities at the temperature, as
    on the CPU, with the cap of 256. Argmax takes the lowest id. The penalty applies here, too.
    Products and sums are not fused. The logf is glibc's (Metal's has other last bits).
Source: the Akunu book, chapter "The Sampling Pipeline" (gumbel_topk_f16); the Gumbel-max trick:
    arXiv 1411.0030.
Suite: engines/akunu/suites/akunu/akunu_gumbel.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model.pipeline import (
    effective_k,
    inverse,
    penalize,
    require_vocabulary,
    softmax,
    to_half,
    top_p_cut,
)
from sampler_parity.engines.shared.copied import Copied
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, int32, uint32
from sampler_parity.reference.random import pcg_floats

KNUTH = 2654435761
U_MIN = np.float32(1e-7)
U_MAX = np.float32(1) - np.float32(1e-7)  # 1 - 2**-23


class AkunuGumbel(Copied):
    name = "akunu_gumbel"

    def __init__(
        self,
        seed_offset: Any,
        temperature: Any = 0.0,
        top_k: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
        repeat_penalty: Any = 1.0,
        position: Any = 0,
        noise: Any = "f16",
    ) -> None:
        if noise not in ("f16", "f32"):
            raise ChainError(f'noise must be "f16" or "f32", got {noise!r}')
        self.seed_offset = uint32("seed_offset", seed_offset)
        self.temperature = float32("temperature", temperature)
        self.top_k = int32("top_k", top_k)
        self.top_p = float32("top_p", top_p)
        self.min_p = float32("min_p", min_p)
        self.repeat_penalty = float32("repeat_penalty", repeat_penalty)
        self.first_position = uint32("position", position)
        self.noise = str(noise)
        self.position = self.first_position
        self.prev_tokens: list[int] = []

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        require_vocabulary(cand)
        cand.logits = to_half(cand.logits)
        penalize(cand.logits, self.prev_tokens, self.repeat_penalty)
        if self.temperature > 0:
            self._filter(cand.logits)
            u = uniforms(element_seed(self.position, self.seed_offset), len(cand))
            scaled = cand.logits.dtype.type(self.temperature) * gumbel(u.astype(cand.logits.dtype))
            cand.logits = cand.logits + scaled
            if self.noise == "f16" and cand.logits.dtype == np.float32:
                cand.logits = to_half(cand.logits)
        cand.selected = floats.first_largest(cand.logits)
        self.position += 1

    def _filter(self, logits: FloatArray) -> None:
        """Set what the filters remove to -inf, in place."""
        p = softmax(logits * inverse(self.temperature, logits))
        gone = logits < np.sort(logits)[-effective_k(self.top_k, len(logits))]
        if self.min_p > 0:
            gone |= p < p.max() * p.dtype.type(min(float(self.min_p), 1.0))
        survivors = np.sort(p[~gone])[::-1]
        gone |= p < survivors[top_p_cut(survivors, self.top_p) - 1]
        logits[gone] = -np.inf

    def accept(self, token: int) -> None:
        self.prev_tokens.append(token)

    def reset(self) -> None:
        self.position = self.first_position
        self.prev_tokens = []


def element_seed(position: int, seed_offset: int) -> int:
    """Return the state of token 0 at a position; token i has this + i. All modulo 2**32."""
    return (position + seed_offset) * KNUTH % 2**32


def uniforms(first: int, n: int) -> NDArray[np.float32]:
    """Return float32[n]: the clamped uniforms of the states first, first + 1, ..., modulo 2**32."""
    return pcg_floats(first, n).clip(U_MIN, U_MAX)  # type: ignore[no-any-return]


def gumbel(u: FloatArray) -> FloatArray:
    """Return -log(-log(u))."""
    return -floats.log(-floats.log(u))  # type: ignore[no-any-return]
