"""Random chains of a suite: stages drawn from all samplers, parameters at and around their edges
(reference/registry.py).

Parameters and families are chosen so that every chain is defined in llama.cpp: no bias of +inf, no
temperature that overflows when it is applied several times, no negative exponent. The last stage
always selects, because a later filter may remove a token that was selected earlier.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock, fill, one_of
from sampler_parity.harness.checks.stages.block import Script
from sampler_parity.harness.checks.stages.blocks.matrix import GeneratedHistory
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Count, Random, Seed, Size, Steps
from sampler_parity.reference.registry import ROWS

_STAGES = {name: row.edges for name, row in ROWS.items() if row.edges is not None}
_WITH_VOCAB = {
    name: {**(row.edges or {}), **row.edges_with_vocab}
    for name, row in ROWS.items()
    if row.edges_with_vocab is not None
}
_SELECTING = [name for name in _STAGES if ROWS[name].kind == "select"]


class RandomChains(NamedBlock):
    """Random chains, each with its own logits, history and steps."""

    count: Count
    seed: Seed
    max_stages: int = Field(default=10, ge=1, le=limits.STAGES)
    """most stages of a chain"""
    families: list[Family] = Field(min_length=1)
    sizes: list[Size] = Field(min_length=1)
    max_steps: Steps = 8
    scripts: list[Script] = Field(default=["plain"], min_length=1)
    history: GeneratedHistory | None = None
    vocab: str | None = None
    tags: list[str] = Field(default=[])
    quick: Random = 0

    def items(self, quick: bool, shift: int) -> Iterator[Case]:
        """Yield the first `quick` chains, or all; chain i depends on seed + shift and i alone."""
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self._case(self.seed + shift, i)

    def _case(self, seed: int, index: int) -> Case:
        rng = np.random.default_rng([seed, index])
        n = int(one_of(rng, self.sizes))
        history = self.history
        tokens = history.model_copy(update={"seed": index}).tokens() if history else []
        return case_from(
            self.about(f"{seed}-{index:04}"),
            chain=fill(self._chain(rng), {}, n),
            logits=GeneratedLogits(family=one_of(rng, self.families), n=n, seed=seed + index),
            history=tokens[: int(rng.integers(0, len(tokens) + 1))],
            steps=int(rng.integers(1, self.max_steps + 1)),
            script=one_of(rng, self.scripts),
            vocab=self.vocab,
            tags=self.tags,
        )

    def _chain(self, rng: np.random.Generator) -> list[dict[str, dict[str, Any]]]:
        stages = _STAGES | (_WITH_VOCAB if self.vocab else {})
        names = [one_of(rng, sorted(stages)) for _ in range(int(rng.integers(0, self.max_stages)))]
        names.append(one_of(rng, _SELECTING))
        return [
            {name: {key: one_of(rng, values) for key, values in stages[name].items()}}
            for name in names
        ]
