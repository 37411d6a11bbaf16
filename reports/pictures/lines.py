"""Lines over a quantity as inline SVG: panels below each other, in which a thing has one colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pictures.picture import (
    COLOURS,
    INK,
    MARKS,
    WIDTH,
    legend,
    picture,
    plain,
)


@dataclass(frozen=True)
class PlotLine:
    """A line through points (x, y). intervals: low and high of each. joined, marked: whether it has
    a line and dots."""

    label: str
    points: Sequence[tuple[float, float]]
    intervals: Sequence[tuple[float, float]] = ()
    joined: bool = True
    marked: bool = True


@dataclass(frozen=True)
class Panel:
    """Curves over one axis. log: which axes are logarithmic; base: of x. share: y goes from 0 to 1.
    level: a dotted line. ticks: what stands at x = 0, 1, 2 and so on."""

    title: str
    curves: Sequence[PlotLine]
    y: str = ""
    log: str = "xy"
    base: int = 10
    share: bool = False
    level: float | None = None
    ticks: Sequence[str] = ()


def panels(plots: Sequence[Panel], x: str, salt: str) -> str:
    """Return an <svg> element, or "" without a point. salt keeps its ids apart from others'."""
    plots = [panel for panel in plots if any(curve.points for curve in panel.curves)]
    if not plots:
        return ""
    labels = list(dict.fromkeys(curve.label for panel in plots for curve in panel.curves))

    def draw(figure: "Figure") -> None:
        all_axes = figure.subplots(len(plots), squeeze=False)[:, 0]
        for axes, panel in zip(all_axes, plots, strict=True):
            for curve in panel.curves:
                _curve(axes, curve, labels.index(curve.label))
            _axes(axes, panel)
        axes.set_xlabel(x, color=INK)
        legend(figure)

    return picture(draw, (WIDTH, 2.2 * len(plots) + 0.6 + 0.1 * len(labels)), salt)


def _curve(axes: "Axes", curve: PlotLine, number: int) -> None:
    style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "markersize": 3.5}
    style["marker"] = MARKS[number % len(MARKS)] if curve.marked else ""
    style["linestyle"] = "-" if curve.joined else ""
    style["label"] = one_line(curve.label, 40).removeprefix("_")
    xs, ys = [x for x, _ in curve.points], [y for _, y in curve.points]
    if not curve.intervals:
        axes.plot(xs, ys, **style)
        return
    below = [max(0.0, y - low) for y, (low, _) in zip(ys, curve.intervals, strict=True)]
    above = [max(0.0, high - y) for y, (_, high) in zip(ys, curve.intervals, strict=True)]
    axes.errorbar(xs, ys, yerr=[below, above], capsize=2, **style)


def _axes(axes: "Axes", panel: Panel) -> None:
    axes.set_title(one_line(panel.title, 60), color=INK, loc="left", fontsize=9)
    axes.set_ylabel(panel.y, color=INK)
    if "x" in panel.log:
        axes.set_xscale("log", base=panel.base)
    if "y" in panel.log:
        axes.set_yscale("log")
    if panel.share:
        axes.set_ylim(-0.05, 1.05)
    if panel.level is not None:
        axes.axhline(panel.level, color=INK, linewidth=0.8, linestyle=":")
    if panel.ticks:
        step = max(1, len(panel.ticks) // 8)
        places = range(0, len(panel.ticks), step)
        axes.set_xticks(places, panel.ticks[::step], rotation=30, ha="right")
    plain(axes)
