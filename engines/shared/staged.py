"""The instance of an engine whose stages are functions in Python, one after the other, on a row.

A stage gets the tokens so far, and how many of them are the prompt. Each stage keeps its own random
numbers; a copy draws what the original would.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.messages import ChainSpec


class Stage(Protocol):
    def apply(self, row: Any, tokens: list[int], n_prompt: int) -> None: ...
    def draws(self, row: Any, n: int) -> list[int]:
        """Draw n tokens from the same row, by a stage that selects."""

    def reset(self) -> None: ...
    def draw_as(self, other: Any) -> None:
        """Take over the random numbers of another."""


class Staged:
    """make: builds a stage from its name and parameters. refusals: the exceptions by which the
    engine refuses a value."""

    def __init__(
        self,
        chain: ChainSpec,
        make: Callable[[str, dict[str, Any]], Stage],
        engine: str,
        refusals: tuple[type[Exception], ...] = (ValueError,),
    ) -> None:
        self.chain, self.make, self.engine, self.refusals = chain, make, engine, refusals
        self.tokens: list[int] = []
        self.n_prompt = 0
        with self.refused():
            self.stages = [make(name, of) for stage in chain for name, of in stage.items()]

    @contextmanager
    def refused(self) -> Iterator[None]:
        try:
            with np.errstate(all="ignore"):
                yield
        except self.refusals as error:
            raise InputError(self.engine, str(error)) from None

    def apply(self, stage: int | None, row: Any) -> None:
        with self.refused():
            for chosen in self.stages if stage is None else [self.stages[stage]]:
                chosen.apply(row, self.tokens, self.n_prompt)

    def draw(self, row: Any, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, self.engine)
        *filters, last = self.stages
        with self.refused():
            for stage in filters:
                stage.apply(row, self.tokens, self.n_prompt)
            return np.array(last.draws(row, n), np.int32)

    def accept(self, token: int) -> None:
        self.tokens.append(token)

    def accept_prompt(self, token: int) -> None:
        self.tokens.append(token)
        self.n_prompt += 1

    def reset(self) -> None:
        self.tokens.clear()
        self.n_prompt = 0
        for stage in self.stages:
            stage.reset()

    def clone(self) -> "Staged":
        twin = Staged(self.chain, self.make, self.engine, self.refusals)
        twin.tokens, twin.n_prompt = list(self.tokens), self.n_prompt
        for stage, other in zip(self.stages, twin.stages, strict=True):
            other.draw_as(stage)
        return twin
