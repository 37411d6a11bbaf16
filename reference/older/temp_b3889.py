"""temp of b3889, and temp_ext up to b6133.

Source: llama_sampler_temp_apply and llama_sampler_temp_ext_apply, src/llama-sampling.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.samplers.temp import scale
from sampler_parity.reference.samplers.temp_ext import follow_entropy


@np.errstate(all="ignore")
def divide(cand: Candidates, temp: floats.Float) -> None:
    cand.logits = cand.logits / temp


class TempB3889:
    name = "temp"

    def __init__(self, old: Old, temp: Any) -> None:
        self.old = old
        self.temp = float32("temp", temp)

    def apply(self, cand: Candidates) -> None:
        if "temp-0-divides" in self.old:
            divide(cand, self.temp)
        elif self.temp != 1:
            scale(cand, self.temp)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TempB3889":
        return TempB3889(self.old, self.temp)


class TempExtB6133:
    name = "temp_ext"

    def __init__(self, old: Old, temp: Any, delta: Any = 0.0, exponent: Any = 1.0) -> None:
        self.old = old
        self.temp = float32("temp", temp)
        self.delta = float32("delta", delta)
        self.exponent = float32("exponent", exponent)
        self.scale = divide if "temp-0-divides" in old else scale

    def apply(self, cand: Candidates) -> None:
        if self.delta > 0 and len(cand) > 1:
            sort(cand, self.old)
            follow_entropy(cand, self.temp, self.delta, self.exponent, self.scale)
        elif self.delta <= 0 and self.temp != 1:
            self.scale(cand, self.temp)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TempExtB6133":
        return TempExtB6133(self.old, self.temp, self.delta, self.exponent)
