"""Show how the other texts of a batch change the logits of a text.

The page has a row for each backend and width, with the machine that computed it.
reports/schemas/invariance.schema.json is made of InvarianceReport.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.invariance import InvarianceResult, WidthFigures
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, figure, share_of
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.pictures.picture import Panel, PlotLine, panels

PANELS = {"difference": "largest difference of two logits", "kl_mean": "mean KL, nats"}
LINES = 16  # of a picture; the other backends are in the table
TITLE = "Invariance of decoding"


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


def report_of(bundles: list[Bundle]) -> InvarianceReport | None:
    """Return a row for each backend, also for those that do not run; None where nothing was
    measured."""
    rows = [row for bundle in bundles for row in _backends(bundle)]
    return InvarianceReport(rows=rows) if rows else None


def _backends(bundle: Bundle) -> Iterator[InvarianceRow]:
    for result in bundle.of(InvarianceResult):
        for backend, info in bundle.info.backends.items():
            measured = result.backends.get(backend)
            failed = measured.failed if measured else f"unavailable: {info.unavailable}"
            yield InvarianceRow(
                bundle=visible(bundle.folder.resolve().name),
                case=visible(result.id),
                backend=visible(backend),
                device=visible(info.device),
                machine=visible(bundle.info.machine.cpu),
                texts=result.texts,
                tokens=result.tokens,
                failed=visible(failed),
                widths=measured.widths if measured else [],
                replay=visible(replay(bundle.info, result.suite, result.id, [backend])),
            )


def by_width(report: InvarianceReport, salt: str) -> str:
    """Return an <svg> element, or "" where no two logits differ. Rows that are equal to the bit
    stand at the bottom, a tenth of the smallest difference. salt keeps its ids apart."""
    rows = [row for row in report.rows if row.widths][:LINES]
    if not any(row.largest for row in rows):
        return ""
    plots = [_panel(rows, key, title) for key, title in PANELS.items()]
    return panels(plots, "sequences in a batch", salt)


def _panel(rows: list[InvarianceRow], key: str, title: str) -> Panel:
    several = len({row.bundle for row in rows}) > 1
    values = [getattr(figures, key) for row in rows for figures in row.widths]
    bottom = min((value for value in values if value > 0), default=1.0) / 10
    curves = [
        PlotLine(
            f"{row.backend} of {row.bundle}" if several else row.backend,
            [(f.width, max(getattr(f, key), bottom)) for f in row.widths],
        )
        for row in rows
    ]
    return Panel(title, curves, base=2)


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
    block = chart if any(row.largest for row in report.rows) else same
    return doc.Region("widths", [doc.Heading(2, "By width of the batch", "widths"), block, table])


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


def summary(report: InvarianceReport) -> PageSummary:
    """Return its headlines, and a line for each backend: the widths at which rows differ from the
    text alone."""
    measured = [row for row in report.rows if row.widths]
    same = sum(row.equal == row.rows for row in measured)
    largest = max((row.largest for row in measured), default=0.0)
    headlines = [
        f"{same:,}/{len(measured):,} configurations decode a batch as each text alone, to the bit",
        f"largest difference of two logits {largest:.3g}",
    ]
    lines = [f"width    {one_line(row.backend)}   {_difference(row)}" for row in report.rows]
    return PageSummary(None, headlines, lines)


def _difference(row: InvarianceRow) -> str:
    if row.failed:
        return one_line(row.failed)
    equal = f"{row.equal:,}/{row.rows:,} rows as alone to the bit"
    widths = ", ".join(str(f.width) for f in row.widths if f.equal < f.rows)
    if not widths:
        return equal
    return f"{equal}, not at {widths}; logits differ by up to {figure(row.largest)}"


INVARIANCE = Page[list[Bundle], InvarianceReport](
    stem="invariance",
    title="Invariance",
    answers="What do the other texts of a batch change in the logits of a text?",
    model=InvarianceReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
