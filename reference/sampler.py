"""The interface of every sampler, a sampler of a user's own making, and the tokens accepted last.

A `Custom` sampler is a llama_sampler_i of which members may be missing. llama.h lets each member be
null but apply, and clone and free where there is a context:

    accept, reset   nothing happens
    apply           a chain passes the sampler by; llama_sampler_apply aborts
    clone           without a context a sampler like it; with one llama_sampler_clone aborts
    free            the context stays
    name            llama_sampler_name calls it all the same, and the process ends

Source: llama_sampler_* and llama_sampler_chain_apply, src/llama-sampler.cpp; llama_sampler_i,
include/llama.h; both at v0.5.0.
"""

from array import array
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.compiled import jit
from sampler_parity.reference.errors import UndefinedInputError


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


class Stateless:
    """Complete a sampler whose result depends on its parameters and the candidates alone."""

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> Self:
        return copy(self)


@dataclass
class Custom:
    """on_*: the members, None where they are missing. They get the sampler, whose context they may
    change."""

    name: str = "custom"
    context: Any = None
    on_apply: Callable[["Custom", Candidates], None] | None = None
    on_accept: Callable[["Custom", int], None] | None = None
    on_reset: Callable[["Custom"], None] | None = None
    on_clone: Callable[["Custom"], "Custom"] | None = None

    @property
    def applies(self) -> bool:
        """Whether a chain applies it."""
        return self.on_apply is not None

    def apply(self, cand: Candidates) -> None:
        if self.on_apply is None:
            raise UndefinedInputError("llama.cpp aborts: a sampler without apply is applied")
        self.on_apply(self, cand)

    def accept(self, token: int) -> None:
        if self.on_accept is not None:
            self.on_accept(self, token)

    def reset(self) -> None:
        if self.on_reset is not None:
            self.on_reset(self)

    def clone(self) -> "Custom":
        if self.on_clone is not None:
            return self.on_clone(self)
        if self.context is not None:
            raise UndefinedInputError("llama.cpp aborts: the sampler does not support cloning")
        return Custom(self.name, None, self.on_apply, self.on_accept, self.on_reset)


class History:
    """At most `size` tokens: each token accepted pushes out the oldest."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tokens = array("q")  # the newest stand last; what lies before them is out of date

    def __len__(self) -> int:
        return min(self.size, len(self._tokens))

    def __iter__(self) -> Iterator[int]:
        """Yield the tokens, oldest first."""
        return iter(self._tokens[len(self._tokens) - len(self) :])

    def append(self, token: int) -> None:
        self._tokens.append(token)
        if len(self._tokens) > 2 * self.size + 64:
            del self._tokens[: len(self._tokens) - self.size]

    def clear(self) -> None:
        del self._tokens[:]

    def copy(self) -> "History":
        twin = History(self.size)
        twin._tokens.extend(self)
        return twin

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct tokens, ascending, and how often each occurs."""
        tokens = np.array(self._tokens[len(self._tokens) - len(self) :], np.int64)
        tokens.sort()
        return _count(tokens)  # type: ignore[no-any-return]


@jit
def _count(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    distinct, counts = np.empty_like(ascending), np.zeros_like(ascending)
    n = 0
    for i in range(len(ascending)):
        if i == 0 or ascending[i] != ascending[i - 1]:
            distinct[n] = ascending[i]
            n += 1
        counts[n - 1] += 1
    return distinct[:n], counts[:n]
