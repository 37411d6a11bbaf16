"""The model of the invariance page; reports/schemas/invariance.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.checks.invariance.record import WidthFigures
from sampler_parity.harness.strict import Strict


class InvarianceRow(Strict):
    """A backend of a bundle, on `texts` texts of `tokens` tokens. failed: why it has no figures."""

    bundle: str
    case: str
    backend: str
    device: str
    machine: str
    texts: int
    tokens: int
    failed: str
    widths: list[WidthFigures]
    replay: str

    @property
    def largest(self) -> float:
        return max((figures.difference for figures in self.widths), default=0.0)

    @property
    def equal(self) -> int:
        return sum(figures.equal for figures in self.widths)

    @property
    def rows(self) -> int:
        return sum(figures.rows for figures in self.widths)


class InvarianceReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["invariance"] = "invariance"
    rows: list[InvarianceRow]

    @property
    def widths(self) -> list[int]:
        return sorted({figures.width for row in self.rows for figures in row.widths})
