"""The record of skip ratios: one line of JSON for each set of leaves, model and backend."""

from typing import Literal

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.protocol.measured import OfTrie
from sampler_parity.harness.strict import StrictFigures


class Check(StrictFigures):
    """A check of a figure. what: the figure; relation: it must equal the limit, or be at least or
    at most it."""

    what: str
    """the figure"""
    found: float
    """its value"""
    relation: Literal["=", ">=", "<="]
    """how it must compare with the limit"""
    limit: float
    """the limit"""

    @property
    def met(self) -> bool:
        if self.relation == "=":
            return self.found == self.limit
        return self.found >= self.limit if self.relation == ">=" else self.found <= self.limit


class SkipRatioResult(StrictFigures, Result):
    """A workload on a backend."""

    kind: Literal["skip_ratio"] = "skip_ratio"
    id: str
    suite: str = ""
    workload: str
    """id of the workload"""
    backend: str
    """the backend"""
    model: str
    """the model"""
    leaves: str
    """the set of leaves"""
    prompts: int
    """number of prompts"""
    rounds: int
    """number of rounds"""
    delay_ms: float = 0.0
    """milliseconds added to each forward pass"""
    seed: int
    verdict: Literal["measured", "unsupported", "rejected", "crashed", "timeout"]
    """whether it was measured"""
    detail: str = ""
    measured: OfTrie | None = None
    """the figures, as in `Measured` of harness/schemas/protocol.schema.json"""
    checks: list[Check] = []
    """checks of the suite"""
    wall_s: float = 0.0

    @property
    def skip_ratio_mean(self) -> float | None:
        return None if self.measured is None else self.measured.skip_ratio_mean

    @property
    def ok(self) -> bool:
        """Whether it was measured and every check is met; False without a check."""
        return self.measured is not None and bool(self.checks) and all(c.met for c in self.checks)
