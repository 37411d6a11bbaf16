"""What a run that measured invariance prints at its end."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.invariance.model import InvarianceReport, Row


def terminal_lines(report: InvarianceReport) -> list[str]:
    """A line for each backend: the widths at which rows differ from the text alone."""
    return [f"width    {one_line(row.backend)}   {_said(row)}" for row in report.rows]


def _said(row: Row) -> str:
    if row.failed:
        return one_line(row.failed)
    apart = [f.width for f in row.widths if f.equal < f.rows]
    equal = f"{row.equal:,}/{row.rows:,} rows as alone to the bit"
    if not apart:
        return equal
    widths = ", ".join(map(str, apart))
    return f"{equal}, not at {widths}; logits differ by up to {figure(row.largest)}"
