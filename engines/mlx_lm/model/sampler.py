"""mlx_sampler: log-probabilities, then make_sampler: filters in a fixed order and a draw.

    l = logits - logsumexp(logits);  top_p, min_p, xtc, top_k (filters.py), each on the survivors
    w_i = exp(l_i / temp - max);  token = the last i with (sum of w_j, j < i) <= u * (sum of all w)

The sums run in float32 over the vocabulary, in the order of the ids: after a likely token, weights
below half a last bit of the sum add nothing and are never drawn.

Parameters, as Python holds them (float64):
    temp:                0 is greedy, and then nothing else counts; default 0. A factor of 1 / temp.
                         Below 0 the least likely are the likeliest, and a removed token is drawn.
    top_p:               from 0 to 1; 0, the default, and 1 are off.
    min_p:               from 0 to 1; default 0 (off).
    min_tokens_to_keep:  integer >= 1; of min_p alone, and read by no other filter; default 1.
    top_k:               0, the default, is off; the vocabulary's size or more is refused.
    xtc_probability:     from 0 to 1, of acting at a step; default 0 (off).
    xtc_threshold:       from 0 to 0.5; default 0.1.
    xtc_special_tokens:  ids that XTC leaves.
    seed:                of mx.random.seed, 64 bits.
Ties: as in filters.py; greedy takes the first largest.
Edges: a step with XTC draws a uniform first, whether it acts or not (it acts unless u >
    xtc_probability); then the draw takes one. Banned tokens (-inf) stay candidates but are never
    drawn. NaN, +inf and a row of -inf are refused: log-probabilities of NaN.
Source: make_sampler and categorical_sampling, mlx_lm/sample_utils.py at 0.32.2; generate_step,
    mlx_lm/generate.py; mx.random.categorical at 0.32.4, as mx.export_to_dot shows it.
Suite: engines/mlx_lm/suites/mlx_lm/sampler.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.mlx_lm.model import filters
from sampler_parity.engines.mlx_lm.model.arithmetic import exp, log_probs, mass_before
from sampler_parity.engines.mlx_lm.model.keys import Keys
from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import integer, real, size, token_ids


class MlxSampler(Copied):
    name = "mlx_sampler"

    def __init__(
        self,
        seed: Any,
        temp: Any = 0.0,
        top_p: Any = 0.0,
        min_p: Any = 0.0,
        min_tokens_to_keep: Any = 1,
        top_k: Any = 0,
        xtc_probability: Any = 0.0,
        xtc_threshold: Any = 0.1,
        xtc_special_tokens: Any = (),
    ) -> None:
        self.seed = integer("seed", seed, 0, 2**64 - 1)
        self.temp = real("temp", temp)
        self.top_p = within("top_p", top_p, 1)
        self.min_p = within("min_p", min_p, 1)
        self.min_tokens_to_keep = integer("min_tokens_to_keep", min_tokens_to_keep, 1, 2**31 - 1)
        self.top_k = size("top_k", top_k)
        self.xtc_probability = within("xtc_probability", xtc_probability, 1)
        self.xtc_threshold = within("xtc_threshold", xtc_threshold, 0.5)
        self.special = token_ids("xtc_special_tokens", xtc_special_tokens, 2**31)
        self.keys = Keys(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "MLX LM")
        if n == 0 or not cand.logits.max() < np.inf or cand.logits.max() == -np.inf:
            raise UndefinedInputError("NaN, +inf or nothing but -inf: log-probabilities of NaN")
        cand.logits = log_probs(cand.logits)
        cand.sorted = False
        if self.temp == 0:
            cand.selected = floats.first_largest(cand.logits)
            return
        cand.logits = self.filtered(cand.logits)
        cand.selected = self.draw(cand.logits)

    def filtered(self, logits: FloatArray) -> FloatArray:
        n = len(logits)
        if 0 < self.top_p < 1:
            logits = filters.top_p(logits, self.top_p)
        if self.min_p != 0:
            refuse_beyond("min_tokens_to_keep", self.min_tokens_to_keep - 1, n)
            logits = filters.min_p(logits, self.min_p, self.min_tokens_to_keep)
        if self.xtc_probability > 0:
            refuse_beyond("xtc_special_tokens", max(self.special, default=0), n)
            if self.xtc_acts():
                logits = filters.xtc(logits, self.xtc_threshold, self.special)
        refuse_beyond("top_k", self.top_k, n)
        return filters.top_k(logits, self.top_k) if self.top_k > 0 else logits

    def xtc_acts(self) -> bool:
        return bool(self.keys.uniforms(1)[0] <= np.float32(self.xtc_probability))

    def draw(self, logits: FloatArray) -> int:
        scaled = logits * logits.dtype.type(1.0 / self.temp)
        top = scaled.max()
        # At a temperature below 0 what was removed is +inf, and nothing else counts.
        weights = (scaled == top).astype(scaled.dtype) if np.isinf(top) else exp(scaled - top)
        place = self.keys.uniforms(1)[0] * floats.total(weights)
        return int(np.searchsorted(mass_before(weights), place, side="right")) - 1

    def reset(self) -> None:
        self.keys = Keys(self.seed)


def within(name: str, value: Any, most: float) -> float:
    number = real(name, value)
    if not 0 <= number <= most:
        raise ChainError(f"{name} must be in 0..{most}, got {value!r}")
    return number


def refuse_beyond(name: str, value: int, n: int) -> None:
    if value >= n:
        raise UndefinedInputError(f"{name} is beyond a vocabulary of {n} tokens: MLX LM refuses")
