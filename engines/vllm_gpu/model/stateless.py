"""A stage of vLLM's second runner without a state."""

from typing import Self

from sampler_parity.reference.candidates import Candidates


class Stateless:
    def apply(self, cand: Candidates) -> None:
        raise NotImplementedError

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> Self:
        return self
