"""A toy grammar, which the native program has, too: llama_sampler_init_grammar of driver.cpp."""

from dataclasses import dataclass, field

import numpy as np

from sampler_parity.reference import Candidates


@dataclass
class AllowList:
    """A grammar: the tokens that are allowed at each position, over and over."""

    allowed: list[set[int]]
    accepted: list[int] = field(default_factory=list)
    name: str = "allow-list"

    def apply(self, cand: Candidates) -> None:
        allowed = self.allowed[len(self.accepted) % len(self.allowed)]
        cand.logits[~np.isin(cand.ids, list(allowed))] = -np.inf

    def accept(self, token: int) -> None:
        self.accepted.append(token)

    def reset(self) -> None:
        self.accepted.clear()

    def clone(self) -> "AllowList":
        return AllowList(self.allowed, self.accepted.copy())

    def text(self) -> str:
        """Return the text that the native program reads."""
        return ";".join(",".join(map(str, sorted(tokens))) for tokens in self.allowed)
