"""The tokens of a request so far, for engines that distinguish prompt and output."""

from copy import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError


@dataclass
class Past:
    """prompt: the first tokens of the request. output: the tokens generated since."""

    prompt: list[int] = field(default_factory=list)
    output: list[int] = field(default_factory=list)

    @property
    def text(self) -> list[int]:
        return self.prompt + self.output

    def clear(self) -> None:
        self.prompt.clear()
        self.output.clear()

    def copy(self) -> "Past":
        return Past(self.prompt.copy(), self.output.copy())


class OfPast:
    """A sampler whose only state is its past: accept, reset and clone."""

    past: Past

    def accept(self, token: int) -> None:
        self.past.output.append(token)

    def accept_prompt(self, token: int) -> None:
        self.past.prompt.append(token)

    def reset(self) -> None:
        self.past.clear()

    def clone(self) -> Self:
        twin = copy(self)
        twin.past = self.past.copy()
        return twin


def size_of_vocabulary(cand: Candidates, engine: str) -> int:
    """Return the vocabulary's size. Raises UndefinedInputError unless it is whole and in order."""
    if not np.array_equal(cand.ids, np.arange(len(cand))):
        problem = f"{engine} masks and keeps the whole vocabulary in order: no filter before it"
        raise UndefinedInputError(problem)
    return len(cand)
