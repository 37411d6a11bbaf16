"""How far logits are from those of the text alone, over the width of the batch."""

from sampler_parity.reports.pages.invariance.model import InvarianceReport, InvarianceRow
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels

PANELS = {"difference": "largest difference of two logits", "kl_mean": "mean KL, nats"}
LINES = 16  # of a picture; the other backends are in the table


def by_width(report: InvarianceReport, salt: str) -> str:
    """Return an <svg> element, or "" where no two logits differ. Rows that are equal to the bit
    stand at the bottom, a tenth of the smallest difference. salt keeps its ids apart."""
    rows = [row for row in report.rows if row.widths][:LINES]
    if not any(row.largest for row in rows):
        return ""
    shown = [_panel(rows, key, title) for key, title in PANELS.items()]
    return panels(shown, "sequences in a batch", salt)


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
