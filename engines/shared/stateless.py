"""A sampler that is a function of the candidates: nothing to accept, reset or copy."""

from typing import Self


class Stateless:
    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> Self:
        return self
