"""A sampler of a user's own making: llama_sampler_i, of which members may be missing.

llama.h lets each member be null but apply, and clone and free where there is a context:

    accept, reset   nothing happens
    apply           a chain passes the sampler by; llama_sampler_apply aborts
    clone           without a context a sampler like it; with one llama_sampler_clone aborts
    free            the context stays
    name            llama_sampler_name calls it all the same, and the process ends

Source: llama_sampler_* and llama_sampler_chain_apply, src/llama-sampler.cpp; llama_sampler_i,
include/llama.h; both at v0.5.0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError


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
