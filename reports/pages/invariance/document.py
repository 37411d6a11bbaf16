"""The invariance page: a row for each backend and width, and what computed it."""

from collections.abc import Iterator
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, figure, share_of
from sampler_parity.reports.pages.invariance.chart import by_width
from sampler_parity.reports.pages.invariance.model import InvarianceReport, InvarianceRow

TITLE = "Invariance of decoding"


def document(report: InvarianceReport) -> doc.Document:
    """Return the page of a report."""
    intro = (
        "The logits of texts in a batch, compared with those of the same texts alone on the same "
        "backend. What differs here is decoding, and no sampler."
    )
    return doc.Document(
        TITLE, TITLE, [doc.Paragraph(intro)], [_widths(report), _configurations(report)]
    )


def _widths(report: InvarianceReport) -> doc.Region:
    chart = doc.Picture(
        "Chart of the differences by width",
        "A line a backend. Widths whose rows are all equal to the bit stand at the bottom. The "
        "table below has the figures.",
        partial(by_width, report),
    )
    same = doc.Paragraph("On every backend that was measured all rows are equal to the bit.")
    table = doc.Table(
        "Equal: rows of logits that are equal to the bit. KL: divergence from the text alone, in "
        "nats, of a position. Width 1 is the same text alone once more.",
        "Backend | Width | Equal rows | Largest difference | Largest KL | Mean KL | Same top-1",
        [row for part in report.rows for row in _rows(part)],
        style="sticky",
    )
    shown = chart if any(row.largest for row in report.rows) else same
    return doc.Region("widths", [doc.Heading(2, "By width of the batch", "widths"), shown, table])


def _rows(part: InvarianceRow) -> Iterator[doc.TableRow]:
    name = (doc.Name(part.backend), " of ", doc.Name(part.bundle))
    if part.failed:
        yield doc.TableRow([name, doc.TableCell(doc.Name(part.failed), span=6)])
    for f in part.widths:
        shares = share_of(f.equal, f.rows), share_of(f.top1, f.rows)
        figures = [doc.num(figure(value)) for value in (f.difference, f.kl_max, f.kl_mean)]
        yield doc.TableRow(
            [name, doc.num(str(f.width)), doc.num(shares[0]), *figures, doc.num(shares[1])]
        )


def _configurations(report: InvarianceReport) -> doc.InHtml:
    rows: doc.Rows = [
        [
            (doc.Name(row.backend), " of ", doc.Name(row.bundle)),
            device_label(row.device),
            row.machine,
            f"{row.texts} of {row.tokens} tokens",
            doc.Code(row.replay),
        ]
        for row in report.rows
    ]
    caption = "The devices, and the command that measures them again."
    table = doc.Table(caption, "Backend | Device | Machine | Texts | Again", rows)
    heading = doc.Heading(2, "Configurations", "configurations")
    return doc.InHtml([doc.Region("configurations", [heading, table])])
