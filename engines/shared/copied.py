"""A sampler whose copy has everything of its own, random numbers included."""

from copy import deepcopy
from typing import Self


class Copied:
    """The sampler has no history, unless it accepts tokens itself."""

    def accept(self, token: int) -> None:
        pass

    def clone(self) -> Self:
        return deepcopy(self)
