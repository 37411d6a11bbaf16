"""Blocks of a suite that make tries: random ones, walked by the tokens that a chain selects."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock, one_of
from sampler_parity.harness.checks.stages.block import Script
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits
from sampler_parity.harness.strict import Count, Random, Seed, Size, Steps

_BEFORE: list[list[dict[str, dict[str, Any]]]] = [
    [],
    [],
    [{"logit_bias": {"logit_bias": [[0, float("-inf")], [1, 2.5]]}}],
    [{"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.3}}],
    [{"temp": {"temp": 0.7}}],
    [{"top_k": {"k": 5}}],  # leaves them sorted, and perhaps no child
    [{"min_p": {"p": 0.2}}],  # takes some away and keeps the order
]
_AFTER: list[list[dict[str, dict[str, Any]]]] = [
    [],
    [],
    [{"top_k": {"k": 3}}],
    [{"top_p": {"p": 0.9}}, {"temp": {"temp": 1.5}}],
    [{"min_p": {"p": 0.1}}],
    [{"temp": {"temp": 0.0}}],
]


class RandomTries(NamedBlock):
    """Random tries: count cases, each with a payload, a chain around its trie, logits, up to
    max_steps steps, and some of a leaf's first tokens as history. Case i depends on seed + shift
    and i alone.
    """

    count: Count
    seed: Seed
    families: list[Family] = Field(min_length=1)
    sizes: list[Size] = Field(min_length=1)
    max_steps: Steps = 8
    scripts: list[Script] = Field(default=["plain"], min_length=1)
    quick: Random = 0

    def items(self, quick: bool, shift: int) -> Iterator[Case]:
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self._case(self.seed + shift, i)

    def _case(self, seed: int, index: int) -> Case:
        rng = np.random.default_rng([seed, index])
        n = int(one_of(rng, self.sizes))
        descriptors = [random_leaves(rng, n) for _ in range(int(rng.integers(1, 4)))]
        chosen = int(rng.integers(len(descriptors)))
        trie = {
            "trie_descriptor_json": payload(descriptors),
            "mode": int(rng.integers(2)),
            "path": f"p{chosen}" if rng.random() < 0.8 else "",
            "compact": bool(rng.random() < 0.5),
            "across": index % 3 == 0,
        }
        leaf = one_of(rng, descriptors[chosen])
        past = [*leaf[: int(rng.integers(len(leaf) + 1))]] if rng.random() < 0.4 else []
        if rng.random() < 0.2:
            past.append(int(rng.integers(n)))
        select = one_of(rng, [{"greedy": {}}, {"dist": {"seed": index}}])
        return case_from(
            self.about(f"{seed}-{index:05}"),
            chain=[*one_of(rng, _BEFORE), {"token_trie": trie}, *one_of(rng, _AFTER), select],
            logits=GeneratedLogits(family=one_of(rng, self.families), n=n, seed=seed + index),
            history=past,
            steps=int(rng.integers(1, self.max_steps + 1)),
            script=one_of(rng, self.scripts),
        )


def random_leaves(rng: np.random.Generator, n: int) -> list[list[int]]:
    """Return 1 to 12 leaves of 1 to 6 of n tokens, none a prefix of another; few tokens, so they
    share."""
    tokens = rng.choice(n, size=min(n, int(rng.integers(1, 7))), replace=False)
    leaves: list[list[int]] = []
    for _ in range(int(rng.integers(1, 13))):
        leaf = rng.choice(tokens, size=int(rng.integers(1, 7))).tolist()
        if not any(leaf[: len(o)] == o[: len(leaf)] for o in leaves):
            leaves.append(leaf)
    return leaves


def payload(descriptors: list[list[list[int]]]) -> str:
    """Return the JSON of a payload whose paths are p0, p1, ..."""
    listed = [
        {"path": f"p{i}", "leaves": [{"name": f"l{j}", "tokens": t} for j, t in enumerate(leaves)]}
        for i, leaves in enumerate(descriptors)
    ]
    return json.dumps({"modelId": "random", "descriptors": listed})
