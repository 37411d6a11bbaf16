"""temp: divide every logit by the temperature.

    logit_i /= temp

Parameters:
    `temp`  float32. 1 disables the sampler. 0 and below keep the largest logit and set every other
            one to -inf.
Ties: at temp <= 0 the first candidate among the largest stays.
Edges: a tiny temp overflows to +-inf as C does. At temp <= 0 a NaN is never the largest, unless it
    is the first candidate. No candidate is removed; order and `sorted` stay. No candidates: nothing
    happens.
Source: `llama_sampler_temp_impl`, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/temp.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.sampler import Stateless


class Temp(Stateless):
    name = "temp"

    def __init__(self, temp: Any) -> None:
        self.temp = float32("temp", temp)

    def apply(self, cand: Candidates) -> None:
        if self.temp != 1:
            scale(cand, self.temp)


@floats.quiet
def scale(cand: Candidates, temp: floats.Float) -> None:
    """Apply `llama_sampler_temp_impl`, as temp_ext does, too."""
    if len(cand) == 0:
        return
    if temp <= 0:
        best = floats.first_largest(cand.logits)
        logits = np.full_like(cand.logits, -np.inf)
        logits[best] = cand.logits[best]
        cand.logits = logits
        return
    cand.logits /= temp
