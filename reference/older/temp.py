"""temp of b3889, and temp_ext up to b6133.

Source: llama_sampler_temp_apply and llama_sampler_temp_ext_apply, src/llama-sampling.cpp.
"""

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.temp import Temp, scale
from sampler_parity.reference.samplers.temp_ext import TempExt


@np.errstate(all="ignore")
def divide(cand: Candidates, temp: floats.Float) -> None:
    cand.logits = cand.logits / temp


class OldTemp(Temp):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if "temp-0-divides" in self.old:
            divide(cand, self.temp)
        else:
            super().apply(cand)

    def clone(self) -> "OldTemp":
        return in_state(self, super().clone())


class OldTempExt(TempExt):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        if self.delta > 0 and len(cand) > 1:
            sort(cand, self.old)
        super().apply(cand)

    def _scale(self, cand: Candidates, temp: floats.Float) -> None:
        (divide if "temp-0-divides" in self.old else scale)(cand, temp)

    def clone(self) -> "OldTempExt":
        return in_state(self, super().clone())
