"""The batch of a case: its sequences, the script of their steps, and how it is judged."""

from pydantic import Field, model_validator

from sampler_parity.harness.protocol.live import check_script
from sampler_parity.harness.protocol.messages import BatchSequence, BatchStep, ChainSpec
from sampler_parity.harness.strict import Strict
from sampler_parity.reference.random import DEFAULT_SEED

_MOST = 4_096  # sequences and steps of a case: the request is one line


class Batched(Strict):
    """Sequences and the script of a case of a batch."""

    sequences: list[BatchSequence] = Field(min_length=1, max_length=_MOST)
    """the sequences that may join"""
    steps: list[BatchStep] = Field(min_length=1, max_length=_MOST)
    """the events, step by step"""
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    reference: bool = True
    """whether the reference predicts each row, in addition to the relations"""

    @model_validator(mode="after")
    def _fits(self) -> "Batched":
        check_script(self.steps, len(self.sequences), self.rows)
        if not any(step.sample for step in self.steps):
            raise ValueError("no row samples in any step")
        return self

    @property
    def rows(self) -> int:
        """Return how many rows of logits the script names."""
        return 1 + max((sample.row for step in self.steps for sample in step.sample), default=-1)

    @property
    def samples(self) -> int:
        """Return how many rows sample, in all steps together."""
        return sum(len(step.sample) for step in self.steps)


def seeded(chain: ChainSpec) -> bool:
    """Return whether its tokens can be predicted: no sampler draws its own seed."""
    parameters = (values for stage in chain for values in stage.values())
    return all(values.get("seed") != DEFAULT_SEED for values in parameters)
