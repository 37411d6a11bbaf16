"""Pictures as inline SVG. Matplotlib is loaded when one is drawn; most commands draw none."""

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
