"""Blocks of a suite on the log-probabilities that an engine returns by mode."""

from collections.abc import Iterator
from itertools import product
from typing import ClassVar, Literal

from pydantic import Field

from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.inputs.logits import Logits
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.strict import Id, Steps, Tokens
from sampler_parity.harness.verdicts import Verdict

Kind = Literal["raw_logits", "raw", "adjusted", "tempered", "cut_logits", "cut", "renormalized"]


class LogprobsCase(GivenCase):
    """A chain, and a last stage that reports log-probabilities in a mode of the engine."""

    check: ClassVar[str] = "logprobs"
    block: "LogprobsBlock"
    mode: str

    @property
    def claimed(self) -> list[ChainSpec]:
        return [[*self.chain, {f"logprobs/{self.mode}": {"top": self.block.top}}]]

    def required(self, backend: str) -> list[Verdict]:
        return ["correct"]

    def plan(self) -> tuple[list[Step], int]:
        return [Step(row=i, accept=None) for i in range(self.steps)], 1


class LogprobsBlock(SuiteBlock):
    """Every mode with every chain of the file on all logits."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    modes: dict[str, Kind] = Field(min_length=1)
    """the kind of value that each mode of the engine returns"""
    rank: Literal["first", "last", ""] = ""
    """the place that counts among tokens of equal value; left out: the engine returns no rank"""
    logits: dict[str, Logits] = Field(min_length=1)
    """logits by name"""
    rows: Steps
    """rows of each"""
    top: int = Field(ge=0)
    """how many of the most likely tokens are asked for"""
    history: Tokens = []
    """tokens to accept before the first row"""

    def items(self, shared: dict[str, ChainSpec]) -> Iterator[LogprobsCase]:
        fixed = self.model_dump(include={"description", "why", "history"}) | {"block": self}
        every = product(self.modes, shared.items(), self.logits.items())
        for mode, (name, chain), (of, logits) in every:
            own = {"id": f"{self.id}/{mode}/{name}/{of}", "mode": mode, "steps": self.rows}
            yield LogprobsCase.model_validate(fixed | own | {"chain": chain, "logits": logits})
