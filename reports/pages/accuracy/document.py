"""The accuracy page: a row for each sampler, size and backend."""

from collections.abc import Iterator
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.accuracy.chart import by_size
from sampler_parity.reports.pages.accuracy.model import AccuracyReport, Row, ulps

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


def document(report: AccuracyReport) -> doc.Document:
    """Return the page of a report."""
    largest = max(row.n_vocab for row in report.rows)
    top = AccuracyReport(rows=[row for row in report.rows if row.n_vocab == largest])
    chart = _chart("The largest errors by size, over all samplers", report)
    blocks = [
        doc.Region("sizes", [doc.Heading(2, "By size of the vocabulary", "sizes"), chart]),
        doc.Region("largest", [doc.Heading(2, f"At V = {largest:,}", "largest"), _table(top)]),
        doc.Region("samplers", [doc.Heading(2, "By sampler", "samplers"), *_samplers(report)]),
        _configurations(report),
    ]
    return doc.Document(TITLE, TITLE, [doc.Paragraph(INTRO)], blocks)


def _samplers(report: AccuracyReport) -> Iterator[doc.Fold]:
    for name in report.samplers:
        part = AccuracyReport(rows=[row for row in report.rows if row.sampler == name])
        chart = _chart(f"The largest errors of {name}", part)
        yield doc.Fold(doc.Name(name), [chart, _table(part, by_size=True)])


def _chart(label: str, report: AccuracyReport) -> doc.Picture:
    caption = "A line a backend. Errors of 0 stand at the bottom."
    return doc.Picture(label, caption, partial(by_size, report))


def _table(report: AccuracyReport, by_size: bool = False) -> doc.Table:
    head = "V" if by_size else "Sampler"
    head += " | Backend | p, ULPs | Mass, ULPs | Share | Kept tokens | Kept mass"
    several = len({row.bundle for row in report.rows}) > 1
    rows: doc.Rows = []
    for row in report.rows:
        first = doc.num(f"{row.n_vocab:,}") if by_size else doc.Name(row.sampler)
        of = (" of ", doc.Name(row.bundle)) if several else ()
        rows.append([first, (doc.Name(row.backend), *of), *_figures(row)])
    return doc.Table(CAPTION, head, rows, style="sticky")


def _figures(row: Row) -> Iterator[doc.TableCell]:
    if (found := row.figures) is None:
        yield doc.TableCell(doc.Name(row.failed), span=5)
        return
    for error in (found.p, found.mass):
        yield doc.num(f"{ulps(error.median)} / {ulps(error.largest)}")
    yield doc.num(figure(found.mass_share))
    yield doc.num(f"{found.kept_tokens:+,}" if found.kept_tokens else "0")
    yield doc.num(figure(found.kept_share))


def _configurations(report: AccuracyReport) -> doc.Region:
    rows: doc.Rows = [
        [(doc.Name(backend), " of ", doc.Name(bundle)), doc.Name(rows[0].build), rows[0].machine]
        for (backend, bundle), rows in report.backends.items()
    ]
    table = doc.Table("What was measured.", "Backend | Build | Machine", rows)
    heading = doc.Heading(2, "Configurations", "configurations")
    return doc.Region("configurations", [heading, table])
