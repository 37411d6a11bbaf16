"""Forest plots as inline SVG: a line for each row with its interval and its limit.

The label stands above its line, so that a picture is as readable on a phone as on a desk.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pictures.picture import BAD, INK, WIDTH, legend, picture, plain


class ForestLine(NamedTuple):
    """kind: in the legend, where there are several. limit: an upright mark of this line alone."""

    label: str
    low: float
    value: float | None
    high: float
    colour: str
    kind: str = ""
    limit: float | None = None


def forest(
    lines: list[ForestLine], x: str, salt: str, band: tuple[float, float] = (1, 1), log: bool = True
) -> str:
    """Return an <svg> element, or "" without a line. band: what is within is no difference. salt
    keeps its ids apart from others'."""
    if not lines:
        return ""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        _lines(axes, lines)
        axes.axvspan(*band, color=INK, alpha=0.12, linewidth=0)
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xscale("log" if log else "linear")
        axes.set_yticks([])
        axes.set_ylim(len(lines) - 0.5, -0.9)
        axes.set_xlabel(x, color=INK)
        if len({line.kind for line in lines}) > 1:
            legend(figure)
        plain(axes)

    return picture(draw, (WIDTH, 0.9 + 0.28 * len(lines)), salt)


def _lines(axes: "Axes", lines: list[ForestLine]) -> None:
    for at, line in enumerate(lines):
        axes.plot([line.low, line.high], [at, at], color=line.colour, linewidth=1.8)
        if line.value is not None:
            axes.plot([line.value], [at], "o", color=line.colour, markersize=4, label=line.kind)
        if line.limit is not None:
            axes.plot([line.limit] * 2, [at - 0.3, at + 0.3], color=BAD, linewidth=2)
        text = one_line(line.label, 60)
        axes.text(
            0,
            at - 0.2,
            text,
            color=INK,
            fontsize=8,
            transform=axes.get_yaxis_transform(),
            va="bottom",
        )
