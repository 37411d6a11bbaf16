"""What a skip-ratio run records: one line of JSON for each set of leaves, model and backend."""

from typing import Literal

from sampler_parity.harness.protocol.measured import OfTrie
from sampler_parity.harness.strict import StrictFigures


class Check(StrictFigures):
    """what: the figure; it must be equal to the limit, at least or at most it."""

    what: str
    found: float
    relation: Literal["=", ">=", "<="]
    limit: float

    @property
    def met(self) -> bool:
        if self.relation == "=":
            return self.found == self.limit
        return self.found >= self.limit if self.relation == ">=" else self.found <= self.limit


class SkipRatioResult(StrictFigures):
    """A workload on a backend. id: of the workload, "@" and the backend. delay_ms: that every
    forward pass was made longer by. measured is None where verdict says why not, with the reason in
    detail."""

    kind: Literal["skip_ratio"] = "skip_ratio"
    id: str
    suite: str = ""
    workload: str
    backend: str
    model: str
    leaves: str
    prompts: int
    rounds: int
    delay_ms: float = 0.0
    seed: int
    verdict: Literal["measured", "unsupported", "rejected", "crashed", "timeout"]
    detail: str = ""
    measured: OfTrie | None = None
    checks: list[Check] = []
    wall_s: float = 0.0

    @property
    def skip_ratio_mean(self) -> float | None:
        return None if self.measured is None else self.measured.skip_ratio_mean

    @property
    def ok(self) -> bool:
        """Whether it was measured and every check is met; without a check nothing is."""
        return self.measured is not None and bool(self.checks) and all(c.met for c in self.checks)
