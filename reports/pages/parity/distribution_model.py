"""What a report says of distribution tests; part of the report's model."""

from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.bundle.records.distribution import Decision, Kind
from sampler_parity.harness.strict import Strict


class CellRow(Strict):
    """A cell on one backend. decision and holm: after Holm's correction over the run.

    bins: 0 where all tokens are bounded. smallest_caught: what the planned draws catch of the
    bounded quantity, all but surely; estimate, low, high: of that quantity.
    """

    cell: str
    suite: str
    what: Kind
    backend: str
    decision: Decision
    required: list[Decision]
    met: bool
    n_vocab: int
    bins: int
    margin: float | None
    smallest_caught: float | None
    draws: int
    planned: int
    estimate: float | None
    low: float | None
    high: float | None
    p_value: float
    holm: float
    tests: dict[str, float]
    detail: str
    wall_s: float
    replay: str


class Distribution(Strict):
    """budget: the error of all that the cells state together; pairs: (cell, backend), its parts."""

    budget: float
    pairs: int
    met: int
    rows: list[CellRow]
    calibration: CalibrationResult | None

    @property
    def ok(self) -> bool:
        claims = self.calibration.claims if self.calibration else []
        return self.met == self.pairs and all(claim.met for claim in claims)
