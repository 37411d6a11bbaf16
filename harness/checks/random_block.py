"""Blocks of random cases, and stages for which the order of few tokens counts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.strict import Count, Id, Random, Seed, Size

Parameters = dict[str, list[Any]]

REMEMBERING: dict[str, Parameters] = {
    "penalties": {
        "penalty_last_n": [1, 1, 2, 3, 4, 64], "penalty_repeat": [1.0, 1.5, 4.0],
        "penalty_freq": [0.0, 0.5, 2.0], "penalty_present": [0.0, 0.7, 3.0],
    },
    "dry": {
        "dry_multiplier": [0.8, 3.0], "dry_base": [1.25, 1.75],
        "dry_allowed_length": [0, 1, 2], "dry_penalty_last_n": [-1, 4, 64],
    },
}  # fmt: skip


class Draw:
    """Random choices from a seed and a number."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])

    def number(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def one_of(self, values: list[Any]) -> Any:
        return values[self.number(0, len(values) - 1)]

    def stage(self, name: str, values: Parameters) -> dict[str, dict[str, Any]]:
        """Return a stage with one value of each parameter."""
        return {name: {key: self.one_of(of_key) for key, of_key in values.items()}}

    def tokens(self, least: int, most: int, n_vocab: int) -> list[int]:
        """Return tokens of a few, so that parts of them come again. least, most: how many."""
        few = min(n_vocab, self.number(2, 4))
        return [self.number(0, few - 1) for _ in range(self.number(least, most))]


class RandomBlock(SuiteBlock):
    """Random cases: case i depends on seed + shift and i alone."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    count: Count
    seed: Seed = 0
    families: list[Family] = Field(min_length=1)
    sizes: list[Size] = Field(min_length=1)
    quick: Random = 0

    def items(self, quick: bool, shift: int) -> Iterator[Any]:
        seed = self.seed + shift
        for i in range(min(self.quick, self.count) if quick else self.count):
            about = {"id": f"{self.id}/{seed}-{i:04}", "description": self.description}
            yield self.case(Draw(seed, i), about | {"why": self.why}, seed + i)

    def case(self, draw: Draw, about: dict[str, Any], seed: int) -> Any:
        """Return a case. seed: of its logits."""
        raise NotImplementedError
