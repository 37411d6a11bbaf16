"""A stage of ik_llama.cpp that is a function of the candidates alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sampler_parity.reference import sampler
from sampler_parity.reference.candidates import Candidates


@dataclass(frozen=True)
class Stateless(sampler.Stateless):
    name: str
    change: Callable[[Candidates], None]

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        self.change(cand)
