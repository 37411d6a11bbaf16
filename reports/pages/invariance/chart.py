"""Differences from the text alone over the width of the batch, as inline SVG: a line a backend."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.invariance.model import InvarianceReport, Row
from sampler_parity.reports.pictures.picture import (
    COLOURS,
    INK,
    MARKS,
    WIDTH,
    legend,
    picture,
    plain,
)

Line = tuple[str, list[tuple[int, float]]]
PANELS = {"difference": "largest difference of two logits", "kl_mean": "mean KL, nats"}
LINES = 16  # of a picture; the other backends are in the table


def by_width(report: InvarianceReport, salt: str) -> str:
    """An <svg> element, or "" where no two logits differ. Rows that are equal to the bit stand at
    the bottom, a tenth of the smallest difference. salt keeps its ids apart from others'."""
    rows = [row for row in report.rows if row.widths][:LINES]
    if not any(row.largest for row in rows):
        return ""
    return picture(lambda figure: _draw(figure, rows), (WIDTH, 2.4 * len(PANELS) + 0.9), salt)


def _draw(figure: "Figure", rows: list[Row]) -> None:
    several = len({row.bundle for row in rows}) > 1
    all_axes = figure.subplots(len(PANELS), squeeze=False)[:, 0]
    for axes, (key, title) in zip(all_axes, PANELS.items(), strict=True):
        values = [getattr(figures, key) for row in rows for figures in row.widths]
        bottom = min((value for value in values if value > 0), default=1.0) / 10
        for i, row in enumerate(rows):
            label = one_line(f"{row.backend} of {row.bundle}" if several else row.backend, 40)
            axes.plot(
                [figures.width for figures in row.widths],
                [max(getattr(figures, key), bottom) for figures in row.widths],
                f"{MARKS[i % 8]}-",
                color=COLOURS[i % 8],
                markersize=3,
                label=label.removeprefix("_"),
            )
        axes.set_title(title, color=INK, loc="left", fontsize=9)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        plain(axes)
    axes.set_xlabel("sequences in a batch", color=INK)
    legend(figure)
