"""What a request has seen so far, prompt and output apart, for engines that tell them apart."""

from dataclasses import dataclass, field

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError


@dataclass
class Past:
    """prompt: what the request began with. output: what was generated since."""

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


def size_of_vocabulary(cand: Candidates, engine: str) -> int:
    """Raise UndefinedInputError unless the candidates are a whole vocabulary, in order."""
    if not np.array_equal(cand.ids, np.arange(len(cand))):
        problem = f"{engine} masks and keeps the whole vocabulary in order: no filter before it"
        raise UndefinedInputError(problem)
    return len(cand)
