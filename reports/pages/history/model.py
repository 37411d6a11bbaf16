"""The model of the history page; reports/schemas/history.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.comparison.history import Counted, MeasuredFigure, Run
from sampler_parity.harness.strict import Strict


class SamplerTrend(Strict):
    """By run, in their order; None: the run did not have it."""

    backend: str
    sampler: str
    runs: list[Counted | None]


class FigureTrend(Strict):
    kind: str
    id: str
    backend: str
    unit: str
    runs: list[MeasuredFigure | None]

    @property
    def known(self) -> list[MeasuredFigure]:
        return [run for run in self.runs if run is not None]

    @property
    def change(self) -> float:
        """The last value over the one before; 1 where there is none."""
        known = self.known
        return known[-1].value / known[-2].value if len(known) > 1 and known[-2].value else 1.0


class HistoryReport(Strict):
    """runs: the oldest first."""

    schema_version: Literal[1] = 1
    kind: Literal["history"] = "history"
    runs: list[Run]
    samplers: list[SamplerTrend]
    figures: list[FigureTrend]
