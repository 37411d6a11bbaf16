"""Blocks of a suite that time chains. docs/measure-speed.md explains them.

A `[[chain]]` is one chain on one row of logits; a `[[grid]]` is one chain over vocabulary sizes,
lengths of history and shares of banned tokens, from which slopes are fitted.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sampler_parity.harness.checks.grid import Axes, Subset, fill, points
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits, Logits
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Size, Strict, Tokens

Steady = Literal["n_vocab", "last_n"]


class TimedChain(Strict):
    """One chain on one row of logits, to time."""

    check: ClassVar[str] = "timing"

    id: str
    sampler: str
    """the sampler that the figure is about"""
    chain: p.ChainSpec
    logits: Logits
    history: Tokens = []
    vocab: str | None = None
    group: str = ""
    """name of the chain whose cost this is a point of"""
    masked: float = Field(default=0.0, ge=0, lt=1)
    """share of the tokens at -inf"""
    steady: list[Steady] = []
    """sizes that the cost must not depend on"""
    quick: bool = True
    instead: dict[str, p.ChainSpec] = {}
    """by backend, the same task as a chain of that engine's own stages"""

    def items(self, quick: bool) -> Iterator["TimedChain"]:
        """Yield the chain itself if the profile includes it."""
        if self.quick or not quick:
            yield self

    @property
    def result_id(self) -> str:
        """The id of its result in a bundle."""
        return f"timing/{self.id}"

    def row(self) -> NDArray[np.float32]:
        """Return the logits; the largest is never banned."""
        row = self.logits.row(0)
        if self.masked:
            banned = np.random.default_rng(0).random(len(row)) < self.masked
            banned[row.argmax()] = False
            row = np.where(banned, np.float32(-np.inf), row)
        return row

    def validate_input(self, validator: FileValidator, place: str) -> None:
        others = [(f"instead.{name}", chain) for name, chain in self.instead.items()]
        chains = [("chain", self.chain), *others]
        validator.on_logits(f"chain {self.id!r}", self.logits, self.vocab, chains)


class TimedGrid(Strict):
    """One chain over sizes, lengths of history and shares of banned tokens."""

    id: str
    sampler: str
    """the sampler that the figure is about"""
    chain: p.ChainSpec
    family: Family = "normal"
    sizes: list[Size] = []
    """vocabulary sizes; default those of the suite"""
    last_n: list[Annotated[int, Field(ge=0, le=limits.TOKENS)]] = [0]
    """lengths of the history, also `"$last_n"` in the chain"""
    alphabet: Size | None = None
    """ids of the history are below this"""
    masked: list[float] = [0.0]
    """shares of tokens at -inf"""
    vary: dict[str, list[Any]] = {}
    """axes: values of each `"$name"` in the chain"""
    vocab: str | None = None
    steady: list[Steady] = []
    """sizes that the cost must not depend on"""
    instead: dict[str, p.ChainSpec] = {}
    """by backend, the same task as a chain of that engine's own stages"""
    quick: bool | Subset | list[Subset] = True

    def axes(self, sizes: list[int]) -> Axes:
        varied: Axes = {"last_n": self.last_n, "masked": self.masked, **self.vary}
        return {"sizes": self.sizes or sizes} | {f"${name}": v for name, v in varied.items()}

    def items(self, sizes: list[int], quick: bool) -> Iterator[TimedChain]:
        """Yield the chains. Raises ValueError if the grid cannot be expanded."""
        for point in points(self.axes(sizes), self.quick, quick):
            n, last_n, masked = point["sizes"], point["$last_n"], point["$masked"]
            varied = {name: point[f"${name}"] for name in self.vary}
            parts = [f"{name}{value}" for name, value in varied.items()]
            parts += [f"masked{masked:g}"] if masked else []
            group = "-".join([self.id, *parts])
            tail = f"-n{last_n}" if self.last_n != [0] else ""
            yield TimedChain(
                id=f"{group}/V{n}{tail}",
                sampler=self.sampler,
                chain=fill(self.chain, varied | {"last_n": last_n}, n),
                logits=GeneratedLogits(family=self.family, n=n, seed=1),
                history=self._history(last_n, n),
                vocab=self.vocab,
                group=group,
                masked=masked,
                steady=self.steady,
                instead=self.instead,
            )

    def _history(self, last_n: int, n: int) -> list[int]:
        """Return distinct tokens, or `alphabet` of them repeated."""
        return [5 * (i % (self.alphabet or last_n)) % n for i in range(last_n)]
