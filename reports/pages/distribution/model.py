"""The model of the distribution page; reports/schemas/distribution.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.checks.distribution.record import CellKind, Decision
from sampler_parity.harness.strict import Strict


class CellRow(Strict):
    """A cell on one backend. decision and holm: after Holm's correction over the run.

    bins: 0 where all tokens are bounded. smallest_caught: what the planned draws catch of the
    bounded quantity, all but surely; estimate, low, high: of that quantity.
    """

    cell: str
    suite: str
    what: CellKind
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


class DistributionSection(Strict):
    """One bundle. budget: the error of all that the cells state together; pairs: (cell, backend),
    its parts. skipped: those that the backend does not claim, which are no part. rows: the worst
    first."""

    bundle: str
    ok: bool
    run: RunInfo
    wall_s: float
    budget: float
    pairs: int
    met: int
    skipped: int
    rows: list[CellRow]


class DistributionReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["distribution"] = "distribution"
    ok: bool
    sections: list[DistributionSection]
