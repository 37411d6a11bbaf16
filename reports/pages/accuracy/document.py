"""The accuracy page: plots over the size of the vocabulary, and a row for each backend."""

from collections.abc import Iterator, Sequence
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.accuracy.model import AccuracyReport, AccuracyRow
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels

TITLE = "Accuracy of probabilities"
INTRO = (
    "Each sampler's reported probabilities, compared with exact ones (float64). An ULP is the "
    "distance from the exact value to the next float32. Nothing is judged here."
)
CAPTION = (
    "p: the error of each survivor's probability. Mass: that of each running sum of p. Both in "
    "ULPs, median / largest. Share: the largest error of a running sum, of the whole mass. Kept: "
    "survivors more than the exact result has, and their exact mass; negative where some are "
    "missing."
)
PANELS = {
    "p_largest": "p: largest error, ULPs",
    "mass_largest": "running mass: largest error, ULPs",
    "kept_share": "mass kept: distance from the exact cut",
}
BOTTOM = 1e-8  # of the plots, whose axes are logarithmic
LINES = 16  # of a plot; the other backends are in the tables


def document(report: AccuracyReport) -> doc.Document:
    """Return the page of a report."""
    most = max(row.n_vocab for row in report.rows)
    largest = [row for row in report.rows if row.n_vocab == most]
    blocks = [
        doc.Region("sizes", [doc.Heading(2, "All samplers by size", "sizes"), _plot(report.rows)]),
        doc.Region("largest", [doc.Heading(2, f"At V = {most:,}", "largest"), _table(largest)]),
        doc.Region("samplers", [doc.Heading(2, "Each sampler", "samplers"), *_samplers(report)]),
    ]
    return doc.Document(TITLE, TITLE, [doc.Paragraph(INTRO)], blocks)


def _samplers(report: AccuracyReport) -> Iterator[doc.Fold]:
    for name in dict.fromkeys(row.sampler for row in report.rows):
        rows = [row for row in report.rows if row.sampler == name]
        yield doc.Fold(doc.Name(name), [_plot(rows), _table(rows)])


def _plot(rows: Sequence[AccuracyRow]) -> doc.Picture:
    caption = "A line a backend, the largest errors. Those below 1e-8 stand at 1e-8."
    return doc.Picture("The largest errors by size", caption, partial(by_size, rows))


def by_size(rows: Sequence[AccuracyRow], salt: str) -> str:
    """Return an <svg> element, or "" without figures. salt keeps its ids apart. A panel without
    errors is left out."""
    shown = [Panel(title, _curves(rows, name)) for name, title in PANELS.items()]
    return panels(shown, "tokens of the vocabulary", salt)


def _curves(rows: Sequence[AccuracyRow], name: str) -> list[PlotLine]:
    lines: dict[str, dict[int, float]] = {}
    for row in rows:
        if not row.found.failed:
            points = lines.setdefault(row.backend, {})
            error = abs(getattr(row.found, name))
            points[row.n_vocab] = max(error, points.get(row.n_vocab, BOTTOM))
    if all(error == BOTTOM for points in lines.values() for error in points.values()):
        return []
    return [PlotLine(label, sorted(points.items())) for label, points in lines.items()][:LINES]


def _table(rows: Sequence[AccuracyRow]) -> doc.Table:
    head = "Sampler | V | Backend | p, ULPs | Mass, ULPs | Share | Kept tokens | Kept mass"
    return doc.Table(CAPTION, head, [[*_cells(row)] for row in rows], style="sticky")


def _cells(row: AccuracyRow) -> Iterator[doc.TableCell | doc.Inline]:
    found = row.found
    yield from (doc.Name(row.sampler), doc.num(f"{row.n_vocab:,}"), doc.Name(row.backend))
    if found.failed:
        yield doc.TableCell(doc.Name(found.failed), span=5)
        return
    yield doc.num(f"{ulps(found.p_median)} / {ulps(found.p_largest)}")
    yield doc.num(f"{ulps(found.mass_median)} / {ulps(found.mass_largest)}")
    yield doc.num(figure(found.mass_share))
    yield doc.num(f"{found.kept_tokens:+,}" if found.kept_tokens else "0")
    yield doc.num(figure(found.kept_share))


def ulps(error: float) -> str:
    """Return an error in three digits: "0.498", "28,500"."""
    return f"{float(f'{error:.3g}'):,.0f}" if error >= 100 else f"{error:.3g}"
