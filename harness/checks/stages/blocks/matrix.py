"""Blocks that stand for many cases: `matrix` and `pairs`. docs/reference/suite-toml.md has them.

A grid is a table of axes; a case is one value of each. The id of a case names the values as they
are written in the suite, so it does not change if other values are added.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import Axes, NamedBlock, Subset, SuiteBlock, fill, points
from sampler_parity.harness.checks.stages.block import Relation, Script
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits, Logits
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Id, Seed, Size, Steps, Tokens
from sampler_parity.harness.verdicts import Verdict


class GeneratedHistory(SuiteBlock):
    """Tokens to accept before the first step."""

    length: int = Field(ge=0, le=limits.TOKENS)
    """number of tokens"""
    alphabet: Size
    """ids are below this"""
    seed: Seed = 0
    kind: Literal["random", "periodic"] = "random"
    """random ids, or 0 to `alphabet` - 1 again and again"""

    def tokens(self) -> list[int]:
        if self.kind == "periodic":
            return [i % self.alphabet for i in range(self.length)]
        rng = np.random.default_rng(self.seed)
        return [int(token) for token in rng.integers(0, self.alphabet, self.length)]


def _tokens(past: list[int] | GeneratedHistory) -> list[int]:
    return past.tokens() if isinstance(past, GeneratedHistory) else past


class Grid(NamedBlock):
    """The shared fields of matrix and pairs. Logits: families x sizes x seeds, names or golden."""

    families: list[Family] = []
    sizes: list[Size] = []
    seeds: list[Seed] = [0]
    logits: dict[str, Logits] = {}
    """instead of families and sizes: logits by name"""
    golden: str | None = None
    """instead of families and sizes: name of a golden fixture"""
    rows: list[int] = []
    """rows of the golden fixture"""
    steps: Steps = 1
    scripts: list[Script] = ["plain"]
    histories: dict[Id, Tokens | GeneratedHistory] = {}
    """axis: tokens to accept first, by name"""
    history: Tokens | GeneratedHistory = []
    prompt: Tokens | GeneratedHistory = []
    """tokens of the request, in place of a history"""
    output: Tokens | GeneratedHistory = []
    """tokens generated since the prompt"""
    vocab: str | None = None
    dtypes: list[Dtype] = ["float32"]
    """axis: formats that the logits are rounded to"""
    tags: list[str] = []
    requires: dict[str, list[Verdict]] = {}
    quick: bool | Subset | list[Subset] = True
    """all (true), none (false), or one or more parts of the grid"""

    @model_validator(mode="after")
    def _one_source(self) -> "Grid":
        sources = [bool(self.families and self.sizes), bool(self.logits), bool(self.golden)]
        if sources.count(True) != 1:
            raise ValueError("give families and sizes, or logits, or golden and rows")
        if self.golden and not self.rows:
            raise ValueError("golden needs rows")
        if self.history and self.histories:
            raise ValueError("give either history or histories")
        if (self.history or self.histories) and (self.prompt or self.output):
            raise ValueError("give history or histories, or prompt and output")
        return self

    def source_axes(self) -> Axes:
        if self.golden:
            return {"rows": self.rows}
        if self.logits:
            return {"logits": list(self.logits)}
        return {"families": list(self.families), "sizes": self.sizes, "seeds": self.seeds}

    def shared_axes(self) -> Axes:
        axes = self.source_axes() | {"scripts": list(self.scripts), "dtypes": list(self.dtypes)}
        return axes | ({"histories": list(self.histories)} if self.histories else {})

    def logits_of(self, point: Mapping[str, Any]) -> Any:
        if self.golden:
            return {"golden": self.golden, "row": point["rows"]}
        if self.logits:
            return self.logits[point["logits"]]
        return GeneratedLogits(family=point["families"], n=point["sizes"], seed=point["seeds"])

    def n_of(self, point: Mapping[str, Any]) -> int:
        if "sizes" in point:
            return int(point["sizes"])
        return self.logits[point["logits"]].n if self.logits else golden_size(self.golden or "")

    def history_of(self, point: Mapping[str, Any]) -> list[int]:
        return _tokens(self.histories[point["histories"]] if self.histories else self.history)

    def shared_name(self, point: Mapping[str, Any]) -> list[str]:
        """Return the parts of the id: source, then script and history if there are several."""
        if self.golden:
            parts = [self.golden, f"r{point['rows']}"]
        elif self.logits:
            parts = [point["logits"]]
        else:
            parts = [point["families"], f"V{point['sizes']}"]
            parts += [f"s{point['seeds']}"] if self.seeds != [0] else []
        parts += [point["dtypes"]] if self.dtypes != ["float32"] else []
        parts += [point["scripts"]] if self.scripts != ["plain"] else []
        return parts + ([point["histories"]] if self.histories else [])

    def case(self, point: Mapping[str, Any], parts: list[str], chain: Any, **fields: Any) -> Case:
        return case_from(
            self.about("-".join(parts)),
            chain=chain,
            logits=self.logits_of(point),
            history=self.history_of(point),
            prompt=_tokens(self.prompt),
            output=_tokens(self.output),
            steps=self.steps,
            script=point["scripts"],
            vocab=self.vocab,
            dtype=point["dtypes"],
            tags=self.tags,
            requires=self.requires,
            **fields,
        )


class MatrixBlock(Grid):
    """One chain, or several by name, on all logits. `"$name"` stands for a value of `vary`."""

    chain: ChainSpec = []
    chains: dict[str, ChainSpec] = {}
    """axis: chains by name, instead of `chain`"""
    vary: dict[str, list[Any]] = {}
    """axes: values of each `"$name"` in the chain"""
    draws: int = Field(default=0, ge=0, le=limits.DRAWS_OF_CASE)
    """instead of steps: number of tokens to draw from one state"""
    detail: Literal["stages", "token"] = "stages"
    relation: Relation | None = None
    """another run on the same backend to compare with"""

    @model_validator(mode="after")
    def _one_chain(self) -> "MatrixBlock":
        if bool(self.chain) == bool(self.chains):
            raise ValueError("give either chain or chains")
        # a used name stands as '$name' in the text of the chain
        written = str([self.chain, self.chains, self.relation])
        unused = [name for name in self.vary if f"'${name}'" not in written]
        if unused:
            raise ValueError(f"vary.{unused[0]} is not used: no '${unused[0]}' in the chain")
        return self

    def axes(self) -> Axes:
        chains = {"chains": list(self.chains)} if self.chains else {}
        return self.shared_axes() | chains | {f"${name}": v for name, v in self.vary.items()}

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the cases. Raises ValueError if the block cannot be expanded."""
        for point in points(self.axes(), self.quick, quick):
            varied = {name: point[f"${name}"] for name in self.vary}
            parts = self.shared_name(point) + ([point["chains"]] if self.chains else [])
            parts += [f"{name}{self._label(name, value)}" for name, value in varied.items()]
            chain: Any = self.chains[point["chains"]] if self.chains else self.chain
            n = self.n_of(point)
            fields: dict[str, Any] = {"draws": self.draws, "detail": self.detail}
            if self.relation is not None:
                filled = fill(self.relation.chain, varied, n)
                fields["relation"] = self.relation.model_copy(update={"chain": filled})
            yield self.case(point, parts, fill(chain, varied, n), **fields)

    def _label(self, name: str, value: Any) -> str:
        """Return a value as a part of an id; a list or table as its position."""
        if isinstance(value, list | dict):
            return f".{self.vary[name].index(value)}"
        return str(value)


class Pairs(Grid):
    """Every ordered pair of stages, also a stage with itself."""

    stages: dict[str, dict[str, dict[str, Any]]]
    """stages by name"""
    among: list[str] = []
    """only the pairs with one of these stages; empty: all pairs"""
    then: ChainSpec = []
    """stages that follow each pair"""

    def items(self, quick: bool) -> Iterator[Case]:
        names = list(self.stages)
        axes = self.shared_axes() | {"first": names, "second": names}
        if unknown := {*self.among} - {*names}:
            raise ValueError(
                f"among: unknown stage {', '.join(sorted(unknown))}; use {', '.join(names)}"
            )
        for point in points(axes, self.quick, quick):
            pair = [point["first"], point["second"]]
            if self.among and not {*pair} & {*self.among}:
                continue
            chain = [self.stages[name] for name in pair] + self.then
            chain = fill(chain, {}, self.n_of(point))
            yield self.case(point, ["+".join(pair), *self.shared_name(point)], chain)


def golden_size(name: str) -> int:
    return int(fixtures.load(name).shape[1])
