"""An engine whose sampler is a chain of llama.cpp's, in an order of its own."""

from copy import copy
from typing import Self

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.sampler import Sampler


class OfChain:
    """One stage: selects a token and leaves the candidates as they are."""

    samplers: list[Sampler]

    def apply(self, cand: Candidates) -> None:
        chosen = cand.copy()
        for sampler in self.samplers:
            sampler.apply(chosen)
        cand.selected = int(cand.positions(chosen.ids[[chosen.selected]])[0])

    def accept(self, token: int) -> None:
        for sampler in self.samplers:
            sampler.accept(token)

    def reset(self) -> None:
        for sampler in self.samplers:
            sampler.reset()

    def clone(self) -> Self:
        twin = copy(self)
        twin.samplers = [sampler.clone() for sampler in self.samplers]
        return twin
