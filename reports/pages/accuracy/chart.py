"""The largest errors of each backend over the size of the vocabulary."""

from collections.abc import Callable

from sampler_parity.harness.checks.accuracy.record import AccuracyFigures
from sampler_parity.reports.pages.accuracy.model import AccuracyReport
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels

PANELS: dict[str, Callable[[AccuracyFigures], float]] = {
    "p: largest error, ULPs": lambda figures: figures.p.largest,
    "running mass: largest error, ULPs": lambda figures: figures.mass.largest,
    "mass kept: distance from the exact cut": lambda figures: abs(figures.kept_share),
}
LINES = 16  # of a picture; the other backends are in the tables


def by_size(report: AccuracyReport, salt: str) -> str:
    """Return an <svg> element, or "" without figures: the largest errors over all samplers of the
    report. A panel without an error is left out; in others 0 stands at the bottom, a tenth of the
    smallest error. salt keeps its ids apart."""
    return panels(
        [panel for title, of in PANELS.items() if (panel := _panel(report, title, of)).curves],
        "tokens of the vocabulary", salt,
    )  # fmt: skip


def _panel(report: AccuracyReport, title: str, of: Callable[[AccuracyFigures], float]) -> Panel:
    several = len({bundle for _, bundle in report.backends}) > 1
    largest: dict[str, dict[int, float]] = {}
    for (backend, bundle), rows in [*report.backends.items()][:LINES]:
        points = largest.setdefault(f"{backend} of {bundle}" if several else backend, {})
        for row in rows:
            if row.figures:
                points[row.n_vocab] = max(of(row.figures), points.get(row.n_vocab, 0.0))
    errors = [error for points in largest.values() for error in points.values() if error > 0]
    if not errors:
        return Panel(title, [])
    bottom = min(errors) / 10
    curves = [
        PlotLine(label, [(n, max(points[n], bottom)) for n in sorted(points)])
        for label, points in largest.items()
    ]
    return Panel(title, curves)
