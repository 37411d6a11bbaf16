"""Pictures as inline SVG: lines over a quantity, and forest plots.

Matplotlib is loaded when one is drawn; most commands draw none. Lines are in panels below each
other, in which a thing has one colour. A forest plot has a line for each row with its interval and
its limit. The label stands above its line, so that a picture is as readable on a phone as on a
desk.
"""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sampler_parity.harness.sanitize.printable import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#010203"  # stands for the text colour of the page, light or dark
# Of a line or dot on either ground: 3 to 1 and more against #ffffff and #14171b.
COLOURS = ("#3a7cc4", "#c4566a", "#2f9466", "#b07d1f", "#8a63c9", "#7a7a7a", "#2f93a8", "#b04fa0")
DOT, BAD, GOOD = COLOURS[:3]
MARKS = "osD^v<>P"
WIDTH = 4.8  # inches: as wide as a phone with letters of 9 pixels, 1.25 times as large on a desk


def picture(draw: Callable[["Figure"], None], inches: tuple[float, float], salt: str) -> str:
    """Return an <svg> element of this width and height. salt keeps its ids apart from others'."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcParams["svg.fonttype"] = "none"  # text stays text
        mpl.rcParams["text.parse_math"] = False  # a name with $ in it is a name
        mpl.rcParams["svg.hashsalt"] = salt
        mpl.rcParams["font.size"] = 9
        figure = Figure(figsize=inches, layout="constrained")
        figure.patch.set_alpha(0)
        draw(figure)
        _plain_logarithms(figure)
        return _inline(figure)


def _plain_logarithms(figure: "Figure") -> None:
    """Write ticks of logarithmic axes as numbers.

    Matplotlib writes powers of ten in mathtext, which is off. An axis with one power of ten or none
    gets numbers between them.
    """
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                low, high = sorted(axis.get_view_interval())
                axis.set_major_formatter(lambda value, _: number(value))
                axis.set_minor_formatter(_between(high / low))


def _between(span: float) -> Callable[[float, float], str]:
    """Return what stands at ticks between powers of ten, on an axis that spans so much."""

    def text(value: float, _: float) -> str:
        first = f"{value:e}"[0]
        return number(value) if span < 10 or (span < 100 and first in "25") else ""

    return text


def number(value: float) -> str:
    return f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def plain(axes: "Axes") -> None:
    """Remove frame and ground, and draw ticks in the text colour."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=INK, which="both")
    for side in axes.spines.values():
        side.set_visible(False)


def legend(figure: "Figure") -> None:
    """Draw one below all panels, each label once: a thing has one colour in all of them."""
    by_label: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            by_label.setdefault(label, handle)
    figure.legend(
        by_label.values(),
        by_label.keys(),
        frameon=False,
        labelcolor=INK,
        fontsize=8,
        loc="outside lower left",
        ncols=2 if max(map(len, by_label), default=0) < 30 else 1,
    )


def _inline(figure: "Figure") -> str:
    """Return the SVG without XML prologue, metadata and style sheet (it would apply to the whole
    page)."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # the same in every chart, and never referred to
    text = text.replace(INK, "currentColor")
    return text.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


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
