"""How far are probabilities and masses from exact ones? The page has plots over the size of the
vocabulary, and a row for each backend.

reports/schemas/accuracy.schema.json is made of AccuracyReport.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.accuracy import AccuracyOnBackend, AccuracyResult
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import figure
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.pictures.picture import Panel, PlotLine, panels

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


class AccuracyRow(Strict):
    """A sampler at a size on a backend; of several bundles, with the name of its bundle."""

    backend: str
    sampler: str
    n_vocab: int
    found: AccuracyOnBackend


class AccuracyReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["accuracy"] = "accuracy"
    rows: list[AccuracyRow]


def report_of(bundles: list[Bundle]) -> AccuracyReport | None:
    """Return the rows by sampler and size; None where nothing was measured."""
    rows = []
    for bundle in bundles:
        of = f" of {bundle.folder.resolve().name}" if len(bundles) > 1 else ""
        for result in bundle.of(AccuracyResult):
            for backend, accuracy in result.backends.items():
                fields = {"backend": backend + of, "found": accuracy.model_dump()}
                row = fields | {"sampler": result.sampler, "n_vocab": result.n_vocab}
                rows.append(AccuracyRow.model_validate(visible(row)))
    rows.sort(key=lambda row: (row.sampler, row.n_vocab))
    return AccuracyReport(rows=rows) if rows else None


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
    plots = [Panel(title, _curves(rows, name)) for name, title in PANELS.items()]
    return panels(plots, "tokens of the vocabulary", salt)


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
    accuracy = row.found
    yield from (doc.Name(row.sampler), doc.num(f"{row.n_vocab:,}"), doc.Name(row.backend))
    if accuracy.failed:
        yield doc.TableCell(doc.Name(accuracy.failed), span=5)
        return
    yield doc.num(f"{ulps(accuracy.p_median)} / {ulps(accuracy.p_largest)}")
    yield doc.num(f"{ulps(accuracy.mass_median)} / {ulps(accuracy.mass_largest)}")
    yield doc.num(figure(accuracy.mass_share))
    yield doc.num(f"{accuracy.kept_tokens:+,}" if accuracy.kept_tokens else "0")
    yield doc.num(figure(accuracy.kept_share))


def ulps(error: float) -> str:
    """Return an error in three digits: "0.498", "28,500"."""
    return f"{float(f'{error:.3g}'):,.0f}" if error >= 100 else f"{error:.3g}"


def summary(report: AccuracyReport) -> PageSummary:
    """Return the largest errors of each backend, and where they are."""
    names = dict.fromkeys(row.backend for row in report.rows)
    of = {name: [row for row in report.rows if row.backend == name] for name in names}
    lines = [f"{one_line(name)}: {_largest(rows)}" for name, rows in of.items()]
    return PageSummary(None, lines, [f"accuracy {line}" for line in lines])


def _largest(rows: list[AccuracyRow]) -> str:
    measured = [row for row in rows if not row.found.failed]
    if not measured:
        return one_line(rows[0].found.failed)
    worst = max(measured, key=lambda row: row.found.p_largest)
    text = f"p is off by up to {ulps(worst.found.p_largest)} ULPs ({_place(worst)})"
    worst = max(measured, key=lambda row: abs(row.found.kept_share))
    mass = figure(abs(worst.found.kept_share))
    return f"{text}, the kept mass by {mass} ({_place(worst)})" if mass != "0" else text


def _place(row: AccuracyRow) -> str:
    return f"{one_line(row.sampler)}, V = {row.n_vocab:,}"


ACCURACY = Page[list[Bundle], AccuracyReport](
    stem="accuracy",
    title="Accuracy",
    answers="How far are probabilities and masses from exact ones?",
    model=AccuracyReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
