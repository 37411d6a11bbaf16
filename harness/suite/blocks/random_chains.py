"""Random chains of a suite: stages drawn from all samplers, parameters at and around their edges.

Parameters and families are chosen so that no chain leaves what llama.cpp defines: no bias of +inf,
no temperature that overflows when it is applied several times, no negative exponent. The last stage
always selects, because a token selected earlier may have been cut off by a later filter.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.inputs.logits import Generated
from sampler_parity.harness.suite.blocks.grid import Block, Family, fill
from sampler_parity.harness.suite.blocks.matrix import History
from sampler_parity.harness.suite.case import Case, Script

SEEDS = [0, 1, 42, 2**31 - 1, 2**31, 2**31 + 5, 2**32 - 2]
MIN_KEEP = [0, 0, 1, 2, 5, 1000]
P = [0.0, 1e-8, 0.1, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0]

STAGES: dict[str, dict[str, list[Any]]] = {
    "greedy": {},
    "dist": {"seed": SEEDS},
    "top_k": {"k": [-1, 0, 1, 2, 5, 40, 100, 127, 128, 129, "V-1", "V", "V+1"]},
    "top_p": {"p": P, "min_keep": MIN_KEEP},
    "min_p": {"p": [0.0, 1e-8, 0.05, 0.1, 0.5, 1.0, 1.05], "min_keep": MIN_KEEP},
    "typical_p": {"p": P, "min_keep": MIN_KEEP},
    "temp": {"temp": [-1.0, 0.0, 0.1, 0.5, 0.8, 1.0, 1.5, 2.0]},
    "temp_ext": {
        "temp": [0.0, 0.5, 0.8, 1.0, 1.5],
        "delta": [-1.0, 0.0, 0.3, 0.5, 2.0],
        "exponent": [0.0, 0.5, 1.0, 2.0],
    },
    "xtc": {
        "p": [0.0, 0.3, 0.5, 1.0],
        "t": [0.0, 0.01, 0.1, 0.3, 0.5, 0.51],
        "min_keep": MIN_KEEP,
        "seed": SEEDS,
    },
    "top_n_sigma": {"n": [-1.0, 0.0, 0.5, 1.0, 2.0, 5.0]},
    "mirostat": {
        "seed": SEEDS,
        "tau": [0.0, 0.5, 3.0, 5.0],
        "eta": [0.0, 0.1, 1.0],
        "m": [0, 1, 2, 100],
    },
    "mirostat_v2": {"seed": SEEDS, "tau": [0.0, 0.5, 3.0, 5.0], "eta": [0.0, 0.1, 1.0]},
    "penalties": {
        "penalty_last_n": [-1, 0, 1, 4, 64],
        "penalty_repeat": [0.75, 1.0, 1.1, 1.5],
        "penalty_freq": [-0.25, 0.0, 0.3],
        "penalty_present": [-0.5, 0.0, 0.7],
    },
    "dry": {
        "dry_multiplier": [0.0, 0.8, 1.5],
        "dry_base": [0.5, 1.0, 1.75],
        "dry_allowed_length": [0, 1, 2, 3],
        "dry_penalty_last_n": [-1, 0, 5, 64],
    },
    "logit_bias": {
        "logit_bias": [
            [],
            [[0, 2.5]],
            [["V-1", -1.5], [0, 1.0]],
            [[1, float("-inf")], ["V+1", 3.0]],
            [[3, 1.0], [3, 0.5], [5, -2.0]],
        ]
    },
    "adaptive_p": {
        "target": [-1.0, 0.0, 0.3, 0.5, 1.0],
        "decay": [0.0, 0.5, 0.9, 0.99],
        "seed": SEEDS,
    },
}
SELECTING = ["greedy", "dist", "mirostat", "mirostat_v2", "adaptive_p"]
# These need a vocabulary and are added where the block names one.
WITH_VOCAB: dict[str, dict[str, list[Any]]] = {
    "infill": {},
    "dry": STAGES["dry"] | {"seq_breakers": [[], ["\n"], ["he", "hell"], [":", '"', "*", "\n"]]},
}


class RandomChains(Block):
    """count chains of 1 to max_stages stages, each on logits, history and steps of its own."""

    id: str = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    count: int = Field(ge=1)
    seed: int = Field(ge=0)
    max_stages: int = Field(default=10, ge=1)
    families: list[Family] = Field(min_length=1)
    sizes: list[int] = Field(min_length=1)
    max_steps: int = Field(default=8, ge=1)
    scripts: list[Script] = Field(default=["plain"], min_length=1)
    history: History | None = None
    vocab: str | None = None
    tags: list[str] = Field(default=[])
    quick: int = Field(default=0, ge=0)

    def cases(self, quick: bool, shift: int) -> Iterator[Case]:
        """The first `quick` chains, or all; chain i depends on seed + shift and i alone."""
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self._case(self.seed + shift, i)

    def _case(self, seed: int, index: int) -> Case:
        rng = np.random.default_rng([seed, index])
        n = int(_one(rng, self.sizes))
        history = self.history
        tokens = history.model_copy(update={"seed": index}).tokens() if history else []
        return Case(
            id=f"{self.id}/{seed}-{index:04}",
            description=self.description,
            why=self.why,
            chain=fill(self._chain(rng), {}, n),
            logits=Generated(family=_one(rng, self.families), n=n, seed=seed + index),
            history=tokens[: int(rng.integers(0, len(tokens) + 1))],
            steps=int(rng.integers(1, self.max_steps + 1)),
            script=_one(rng, self.scripts),
            vocab=self.vocab,
            tags=self.tags,
        )

    def _chain(self, rng: np.random.Generator) -> list[dict[str, dict[str, Any]]]:
        stages = STAGES | (WITH_VOCAB if self.vocab else {})
        names = [_one(rng, sorted(stages)) for _ in range(int(rng.integers(0, self.max_stages)))]
        names.append(_one(rng, SELECTING))
        return [
            {name: {key: _one(rng, values) for key, values in stages[name].items()}}
            for name in names
        ]


def _one(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]
