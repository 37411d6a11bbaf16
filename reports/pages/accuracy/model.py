"""The model of the accuracy page; reports/schemas/accuracy.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.checks.accuracy.record import AccuracyFigures
from sampler_parity.harness.strict import Strict


def ulps(error: float) -> str:
    """Return an error in three digits: "0.498", "28,500"."""
    return f"{float(f'{error:.3g}'):,.0f}" if error >= 100 else f"{error:.3g}"


class Row(Strict):
    """A sampler at a size on a backend of a bundle. failed: why it has no figures."""

    bundle: str
    backend: str
    build: str
    machine: str
    sampler: str
    n_vocab: int
    rows: int
    failed: str
    figures: AccuracyFigures | None

    @property
    def place(self) -> str:
        return f"{self.sampler}, V = {self.n_vocab:,}"


class AccuracyReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["accuracy"] = "accuracy"
    rows: list[Row]

    @property
    def samplers(self) -> list[str]:
        return list(dict.fromkeys(row.sampler for row in self.rows))

    @property
    def backends(self) -> dict[tuple[str, str], list[Row]]:
        """Return the rows of each backend of each bundle."""
        parts: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            parts.setdefault((row.backend, row.bundle), []).append(row)
        return parts
