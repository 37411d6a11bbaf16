"""The estimates of distribution tests beside their margins, as inline SVG."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sampler_parity.harness.foreign.printable import one_line
from sampler_parity.reports.pages.distribution.model import CellRow
from sampler_parity.reports.render.chart import BAD, DOT, INK, picture, plain

ROWS = 40  # of a picture: what fails stands first


def margins(rows: list[CellRow], salt: str) -> str:
    """An <svg> element, or "" where nothing is bounded. salt keeps its ids apart from others'."""
    bounded = [row for row in rows if row.margin and row.low is not None and row.high is not None]
    if not bounded:
        return ""
    shown = bounded[:ROWS]
    return picture(lambda figure: _draw(figure, shown), (6.8, 0.8 + 0.26 * len(shown)), salt)


def _draw(figure: "Figure", rows: list[CellRow]) -> None:
    axes = figure.subplots()
    several = len({row.backend for row in rows}) > 1
    for i, row in enumerate(rows):
        margin, low, high = row.margin or 1.0, row.low or 0.0, row.high or 0.0
        colour = DOT if row.met else BAD
        axes.plot([low / margin, high / margin], [i, i], color=colour, linewidth=2)
        if row.estimate is not None:
            axes.plot([row.estimate / margin], [i], "o", color=colour, markersize=4)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    labels = [f"{r.cell} {r.backend}" if several else r.cell for r in rows]
    axes.set_yticks(range(len(rows)), [one_line(label, 48) for label in labels])
    axes.set_xlim(left=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("share of the margin", color=INK)
    plain(axes)
