"""Grids: the points of a table of axes, the quick profile's share of them, and the replacement of
names in a chain by their values. Also the base of blocks that give prompts to a model."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from sampler_parity.harness.checks.stages.block import Script
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.inputs.models import GOLDEN, golden_prompts
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Id, Random, Strict, Tokens
from sampler_parity.harness.verdicts import Verdict

Axes = dict[str, list[Any]]

_SIZES = {"V": 0, "V+1": 1, "V-1": -1}
_NEVER_REPLACED = "seq_breakers"  # a breaker may be the text "V"


class SuiteBlock(Strict):
    """A table of a suite file."""


class NamedBlock(SuiteBlock):
    """A block that makes cases, and what they are about."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)

    def about(self, end: str = "") -> dict[str, Any]:
        """Return the id, description and reason of a case. end: of its id."""
        id = f"{self.id}/{end}" if end else self.id
        return {"id": id, "description": self.description, "why": self.why}


class Subset(SuiteBlock):
    """The part of a grid that the quick profile takes. An axis without values is taken whole."""

    families: list[Family] | None = None
    sizes: list[int] | None = None
    seeds: list[int] | None = None
    logits: list[str] | None = None
    """names of logits"""
    rows: list[int] | None = None
    """rows of the fixture"""
    chains: list[str] | None = None
    """names of chains"""
    histories: list[str] | None = None
    """names of histories"""
    scripts: list[Script] | None = None
    dtypes: list[Dtype] | None = None
    """formats of rows"""
    vary: dict[str, list[Any]] = {}
    """values by name"""


def points(
    axes: Axes, chosen: bool | Subset | list[Subset], quick: bool
) -> Iterator[dict[str, Any]]:
    """Yield the points of the grid, or those of its quick subsets, each once. Raises ValueError if
    a subset names a value that the grid lacks, in either profile."""
    subsets = [] if isinstance(chosen, bool) else chosen if isinstance(chosen, list) else [chosen]
    restricted = [_restrict(axes, subset) for subset in subsets]
    if not quick or chosen is True:
        yield from _product(axes)
        return
    yielded = set()
    for grid in restricted:
        for point in _product(grid):
            # values may be lists, which a set does not take
            key = str(point)
            if key not in yielded:
                yielded.add(key)
                yield point


def _product(axes: Axes) -> Iterator[dict[str, Any]]:
    n = math.prod(len(values) for values in axes.values())
    if n > limits.CASES:
        raise ValueError(
            f"makes {n:,} cases; {limits.CASES:,} are allowed: see docs/reference/limits.md"
        )
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _restrict(axes: Axes, subset: Subset) -> Axes:
    restrictions: Axes = {f"${name}": values for name, values in subset.vary.items()}
    fields = {name: getattr(subset, name) for name in Subset.model_fields if name != "vary"}
    restrictions |= {name: values for name, values in fields.items() if values is not None}
    for name, values in restrictions.items():
        missing = [value for value in values if value not in axes.get(name, [])]
        if missing:
            raise ValueError(
                f"quick.{name.replace('$', 'vary.')}: {missing[0]!r} is not in the grid"
            )
    return {name: restrictions.get(name, values) for name, values in axes.items()}


def fill(value: Any, varied: Mapping[str, Any], n: int) -> Any:
    """Replace "$name" by its value and "V", "V+1", "V-1" by the size of the vocabulary. Raises
    ValueError for a name that is not in vary."""
    if isinstance(value, dict):
        return {
            key: fill(item, varied, n) if key != _NEVER_REPLACED else _named(item, varied)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [fill(item, varied, n) for item in value]
    value = _named(value, varied)
    if isinstance(value, list | dict):
        return fill(value, {}, n)
    return n + _SIZES[value] if isinstance(value, str) and value in _SIZES else value


def _named(value: Any, varied: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if value[1:] not in varied:
        raise ValueError(f"{value!r} in the chain is not in vary")
    return varied[value[1:]]


def one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    """Return a random one."""
    return values[int(rng.integers(len(values)))]


class Prompted(NamedBlock):
    """A block that gives prompts to a model."""

    model: str = GOLDEN
    """name or path of a GGUF file"""
    prompts: dict[Id, Tokens] = Field(default={})
    """token ids by name"""
    per_prompt: Random = 0
    """instead of `prompts`: prefixes of each of the golden model's prompts"""
    requires: dict[str, list[Verdict]] = Field(default={})
    tags: list[str] = Field(default=[])

    @model_validator(mode="after")
    def _one_source(self) -> "Prompted":
        if bool(self.prompts) == bool(self.per_prompt):
            raise ValueError("give either prompts or per_prompt")
        if self.per_prompt and self.model != GOLDEN:
            raise ValueError(f"per_prompt needs model = {GOLDEN!r}: its prompts are token ids")
        return self

    def about(self, end: str = "") -> dict[str, Any]:
        return super().about(end) | {"requires": self.requires, "tags": self.tags}

    def all_prompts(self) -> Mapping[str, list[int]]:
        return self.prompts or golden_prompts(self.per_prompt)
