"""A stage of ik_llama.cpp that is a function of the candidates alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from sampler_parity.reference.candidates import Candidates


@dataclass(frozen=True)
class Stateless:
    name: str
    change: Callable[[Candidates], None]

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        self.change(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> Self:
        return self
