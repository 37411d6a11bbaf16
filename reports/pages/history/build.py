"""From a history to its trends."""

from collections import defaultdict
from pathlib import Path

from sampler_parity.harness.comparison import history
from sampler_parity.harness.comparison.history import Counted, MeasuredFigure
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.history.model import FigureTrend, HistoryReport, SamplerTrend
from sampler_parity.reports.pictures.lines import PlotLine

LINES = 8  # of a plot


def report_of(database: Path) -> HistoryReport:
    """Return the trends. Raises InputError for a file that is no history."""
    runs = history.runs(database)
    place = {run.id: i for i, run in enumerate(runs)}
    counted: dict[tuple[str, str], list[Counted | None]]
    counted = defaultdict(lambda: [None] * len(runs))
    for row in history.counts(database):
        counted[row.backend, row.sampler][place[row.run]] = row
    measured: dict[tuple[str, str, str, str], list[MeasuredFigure | None]]
    measured = defaultdict(lambda: [None] * len(runs))
    for figure in history.measured(database):
        measured[figure.kind, figure.id, figure.backend, figure.unit][place[figure.run]] = figure
    report = HistoryReport(
        runs=runs,
        samplers=[SamplerTrend(backend=b, sampler=s, runs=r) for (b, s), r in counted.items()],
        figures=[
            FigureTrend(kind=kind, id=name, backend=backend, unit=unit, runs=figure)
            for (kind, name, backend, unit), figure in measured.items()
        ],
    )
    return HistoryReport.model_validate(visible(report.model_dump()))


def identical_lines(report: HistoryReport) -> list[PlotLine]:
    """Return, by backend, the share of cases by sampler that are identical to the reference."""
    shares: dict[str, list[tuple[int, int]]] = defaultdict(lambda: [(0, 0)] * len(report.runs))
    for row in report.samplers:
        for i, counted in enumerate(row.runs):
            if counted is not None:
                same, total = shares[row.backend][i]
                shares[row.backend][i] = same + counted.identical, total + counted.cases
    lines = [
        PlotLine(name, [(i, same / total) for i, (same, total) in enumerate(runs) if total])
        for name, runs in shares.items()
    ]
    drawn = [line for line in lines if line.points]
    return sorted(drawn, key=lambda line: min(share for _, share in line.points))[:LINES]


def ratio_lines(report: HistoryReport) -> list[PlotLine]:
    """Return the ratios to the baseline that changed most at the end."""
    rows = [row for row in report.figures if any(figure.ratio for figure in row.known)]
    rows.sort(key=lambda row: max(row.change, 1 / row.change), reverse=True)
    return [
        PlotLine(
            f"{row.backend} {row.id}",
            [(i, run.ratio) for i, run in enumerate(row.runs) if run and run.ratio is not None],
        )
        for row in rows[:LINES]
    ]
