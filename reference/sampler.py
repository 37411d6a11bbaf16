"""The interface of every sampler of the reference."""

from typing import Protocol, Self

from sampler_parity.reference.candidates import Candidates


class Sampler(Protocol):
    """Change candidates as llama.cpp's `llama_sampler_i` does."""

    name: str

    def apply(self, cand: Candidates) -> None:
        """Change the candidates in place."""

    def accept(self, token: int) -> None:
        """Take a token of the prompt or a chosen one into the history."""

    def reset(self) -> None:
        """Return to the state after construction."""

    def clone(self) -> Self:
        """Return an independent sampler in the same state."""
