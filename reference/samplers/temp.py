"""temp: divide every logit by the temperature.

    logit_i /= temp

Parameters:
    temp  float32. 1 disables. temp <= 0 keeps the largest logit and sets every other to -inf.
Ties: at temp <= 0 the candidate that stands first among the largest.
Edges: a tiny temp overflows to +-inf as C does. At temp <= 0 a NaN never is the largest, except one
    that stands first. No candidate is removed, order and `sorted` stay. None: none.
Source: llama_sampler_temp_impl, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/temp.toml
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32


class Temp:
    name = "temp"

    def __init__(self, temp: Any) -> None:
        self.temp = float32("temp", temp)

    def apply(self, cand: Candidates) -> None:
        if self.temp != 1:
            scale(cand, self.temp)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "Temp":
        return Temp(self.temp)


@np.errstate(all="ignore")
def scale(cand: Candidates, temp: floats.Float) -> None:
    """`llama_sampler_temp_impl`, which temp_ext uses too."""
    if len(cand) == 0:
        return
    if temp <= 0:
        best = floats.first_largest(cand.logits)
        logits = np.full_like(cand.logits, -np.inf)
        logits[best] = cand.logits[best]
        cand.logits = logits
        return
    cand.logits /= temp
