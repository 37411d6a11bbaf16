"""temp_ext: a temperature that follows the entropy (dynamic temperature).

    h = entropy / log(n);   T = Tmin + (Tmax - Tmin) * h ** exponent
    Tmin = max(0, temp - delta);   Tmax = temp + delta;   logit_i /= T;   p = softmax

n is the number of candidates. The softmax after scaling is in double, rounded to float twice.

Parameters:
    `temp`      float32, the middle of the range.
    `delta`     float32, half of the range. Default 0. 0 and below mean plain `temp` (no sort, no
                p). With temp = 1 this disables the sampler.
    `exponent`  float32. Default 1.
Ties: sorting is that of llama.cpp. At T <= 0 the first of the largest stays.
Edges: with one candidate or none nothing happens if delta > 0. p = 0 adds nothing to the entropy.
    All -inf: T = Tmin. NaN: refused, by the sort.
Source: `llama_sampler_temp_ext_apply`, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/temp_ext.toml
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.sampler import Stateless
from sampler_parity.reference.samplers.temp import scale


class TempExt(Stateless):
    name = "temp_ext"

    def __init__(self, temp: Any, delta: Any = 0.0, exponent: Any = 1.0) -> None:
        self.temp = float32("temp", temp)
        self.delta = float32("delta", delta)
        self.exponent = float32("exponent", exponent)

    def apply(self, cand: Candidates) -> None:
        if self.delta > 0:
            follow_entropy(cand, self.temp, self.delta, self.exponent)
        elif self.temp != 1:
            scale(cand, self.temp)


@floats.quiet
def follow_entropy(
    cand: Candidates,
    middle: np.float32,
    half: np.float32,
    exponent: np.float32,
    scale: Callable[[Candidates, floats.Float], None] = scale,
) -> None:
    """Apply `llama_sampler_temp_ext_apply` with the range middle +- half.

    scale: older releases divide.
    """
    if len(cand) <= 1:
        return
    kind = cand.logits.dtype.type
    temp, delta = kind(middle), kind(half)
    cand.softmax(sort=True)
    warm_by_entropy(cand, max(kind(0), temp - delta), temp + delta, exponent, scale)


def warm_by_entropy(
    cand: Candidates,
    lowest: floats.Float,
    highest: floats.Float,
    exponent: np.float32,
    scale: Callable[[Candidates, floats.Float], None],
) -> None:
    """Apply a temperature made from the share of the largest possible entropy. The candidates are
    sorted."""
    kind = cand.logits.dtype.type
    max_entropy = -floats.log(kind(1) / kind(len(cand)))
    possible = cand.p[cand.p > 0]
    entropy = kind(0) - floats.total_of_products(possible, floats.log(possible))
    share = floats.power(entropy / max_entropy, kind(exponent))
    scale(cand, floats.multiply_add(highest - lowest, share, lowest))
    p = floats.exp(cand.logits.astype(np.float64) - np.float64(cand.logits[0]))
    cand.p = (p.astype(kind) / floats.total(p)).astype(kind)
