"""The invariance page: what do the texts next to it change in the logits of a text?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import figure
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.invariance.build import report_of
from sampler_parity.reports.pages.invariance.document import document
from sampler_parity.reports.pages.invariance.model import InvarianceReport, InvarianceRow
from sampler_parity.reports.summary import PageSummary


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
