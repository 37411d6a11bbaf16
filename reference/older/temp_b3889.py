"""temp of b3889, and temp_ext up to b6133.

Source: llama_sampler_temp_apply and llama_sampler_temp_ext_apply, src/llama-sampling.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.temp import Temp, scale
from sampler_parity.reference.samplers.temp_ext import TempExt, follow_entropy


@np.errstate(all="ignore")
def divide(cand: Candidates, temp: floats.Float) -> None:
    cand.logits = cand.logits / temp


class TempB3889(Temp):
    def __init__(self, old: Old, temp: Any) -> None:
        super().__init__(temp)
        self.old = old

    def apply(self, cand: Candidates) -> None:
        if "temp-0-divides" in self.old:
            divide(cand, self.temp)
        else:
            super().apply(cand)


class TempExtB6133(TempExt):
    def __init__(self, old: Old, temp: Any, delta: Any = 0.0, exponent: Any = 1.0) -> None:
        super().__init__(temp, delta, exponent)
        self.old = old
        self.scale = divide if "temp-0-divides" in old else scale

    def apply(self, cand: Candidates) -> None:
        if self.delta > 0 and len(cand) > 1:
            sort(cand, self.old)
            follow_entropy(cand, self.temp, self.delta, self.exponent, self.scale)
        elif self.delta <= 0 and self.temp != 1:
            self.scale(cand, self.temp)
