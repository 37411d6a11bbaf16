"""Blocks of random cases, and the values of their stages: few, or on a ladder of counts."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.strict import Count, Random, Seed, Size
from sampler_parity.reference.registry import ROWS

Parameters = dict[str, list[Any]]

# At and around the sizes of usual buffers; also numbers of rows, and lengths of histories.
LADDER = [0, 1, 2, *(2**k + d for k in (5, 6, 7, 8, 10) for d in (-1, 0, 1))]

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
_MIN_KEEP: Parameters = {"min_keep": [0, 1, 3]}
FILTERS: dict[str, Parameters] = {
    "temp": {"temp": [0.0, 0.6, 1.0, 1.5]}, "top_k": {"k": [0, 1, 3, 9]},
    "temp_ext": {"temp": [0.6, 1.5], "delta": [0.0, 0.5], "exponent": [0.5, 2.0]},
    "top_p": {"p": [0.4, 0.9, 1.0]} | _MIN_KEEP, "min_p": {"p": [0.0, 0.05, 0.4]} | _MIN_KEEP,
    "typical_p": {"p": [0.3, 0.9, 1.0]} | _MIN_KEEP, "top_n_sigma": {"n": [-1.0, 0.5, 2.0]},
    "xtc": {"p": [0.0, 0.5, 1.0], "t": [0.05, 0.3]} | _MIN_KEEP,
    "logit_bias": {"logit_bias": [[], [[0, 5.0]], [[1, -math.inf], [2, 3.0]], [[3, 4.0]]]},
}  # fmt: skip
_CONTROL = "[^ -\\U0010FFFF]"  # tokens that move no grammar below: prompts and drafts are of these
CONTROL_TOKENS = 9
_GRAMMAR: Parameters = {
    "grammar_str": [
        f"root ::= (c | {a} c* {b})*\nother ::= (c | {b} c* {a} c* {a})*\nc ::= {_CONTROL}"
        for a, b in [("[a-m]", "[n-z]"), ("[a-m]", "[0-9]")]
    ],
    "grammar_root": ["root", "other"],
}
GRAMMARS: dict[str, Parameters] = {
    "grammar": _GRAMMAR,
    "grammar_lazy_patterns": _GRAMMAR | {
        "trigger_tokens": [[], [1], [2, 3]], "trigger_patterns": [[], ["\x02"], ["\x03", "\x01"]],
    },
}  # fmt: skip
FIRST = ["logit_bias", *GRAMMARS, "infill"]  # these come before all others, as in llama.cpp


class Draw:
    """Random choices from a seed and a number."""

    def __init__(self, seed: int, number: int) -> None:
        self.rng = np.random.default_rng([seed, number])

    def number(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def one_of(self, values: list[Any]) -> Any:
        return values[self.number(0, len(values) - 1)]

    def stage(self, name: str, values: Parameters, deep: bool = False) -> dict[str, dict[str, Any]]:
        """Return a stage with one value of each parameter. deep: counts are on the ladder."""
        counts = [key for key in values if deep and key in ROWS[name].sizes]
        values = values | {
            key: LADDER for key in counts if key not in ("logit_bias", "seq_breakers")
        }
        return {name: {key: self.one_of(of_key) for key, of_key in values.items()}}

    def tokens(self, least: int, most: int, n_vocab: int) -> list[int]:
        """Return tokens of a few, so that parts of them come again. least, most: how many."""
        few = min(n_vocab, self.number(2, 4))
        first = 0 if self.number(0, 3) else self.number(0, n_vocab - few)
        return [first + self.number(0, few - 1) for _ in range(self.number(least, most))]

    def ordered(self, names: Iterable[str]) -> list[str]:
        """Return the samplers in any order, biases and grammars before all others."""
        return sorted(self.rng.permutation([*names]).tolist(), key=lambda name: name not in FIRST)

    def past(self, n_vocab: int, rung: int) -> list[int]:
        """Return as many tokens as a rung of the ladder, of a few or of all."""
        few = min(n_vocab, self.one_of([2, 4, n_vocab]))
        return [*map(int, self.rng.integers(0, few, LADDER[rung % len(LADDER)]))]


class RandomBlock(NamedBlock):
    """Random cases: case i depends on seed + shift and i alone."""

    count: Count
    seed: Seed = 0
    families: list[Family] = Field(min_length=1)
    sizes: list[Size] = Field(min_length=1)
    quick: Random = 0

    def items(self, quick: bool, shift: int) -> Iterator[Any]:
        seed = self.seed + shift
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self.case(i, self.about(f"{seed}-{i:04}"), seed)

    def case(self, i: int, about: dict[str, Any], seed: int) -> Any:
        """Return case i."""
        raise NotImplementedError
