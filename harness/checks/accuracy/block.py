"""Blocks of a suite that measure how exact probabilities are.

docs/background/correct-verdicts.md explains them.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.strict import Id, Size, Steps


class AccuracyCase(GivenCase):
    """A sampler on rows of one size, each in the sampler's first state."""

    check: ClassVar[str] = "accuracy"

    def plan(self) -> tuple[list[Step], int]:
        begin: list[tuple[Literal["reset", "clone"], int]] = [("reset", 0)]
        return [Step(row=i, before=begin, accept=None) for i in range(self.steps)], 1


class Accuracies(SuiteBlock):
    """Every chain of the file at every size. Each chain is one sampler that reports p."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    family: Family = "normal"
    """family of the logits"""
    sizes: list[Size] = Field(min_length=1)
    """vocabulary sizes"""
    rows: Steps
    """rows of each size"""

    def items(self, shared: dict[str, ChainSpec]) -> Iterator[AccuracyCase]:
        """Yield the cases. Raises ValueError for a chain of several stages."""
        for name, chain in shared.items():
            if len(chain) != 1:
                raise ValueError(f"chains.{name}: has {len(chain)} stages, and not one")
            for n in self.sizes:
                yield AccuracyCase(
                    id=f"{self.id}/{name}-V{n}",
                    description=self.description,
                    why=self.why,
                    logits=GeneratedLogits(family=self.family, n=n),
                    chain=chain,
                    steps=self.rows,
                )
