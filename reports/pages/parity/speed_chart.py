"""The speed of the parity page as inline SVG: how much slower than llama.cpp the reference is."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sampler_parity.harness.foreign.printable import one_line
from sampler_parity.reports.pages.parity.model import Timing
from sampler_parity.reports.render.chart import BAD, DOT, INK, picture, plain


class Mark(NamedTuple):
    label: str
    ratio: float
    low: float
    high: float
    limit: float | None


def marks(timings: list[Timing]) -> list[Mark]:
    """The reference's ratio to llama.cpp and the ratio that the rule allows, where both exist."""
    marked = []
    for row in timings:
        native = next((b.median_ns for b in row.backends if b.name == "llama.cpp"), 0.0)
        for backend in row.backends:
            if backend.name == "reference" and backend.ratio and native:
                r = backend.ratio
                limit = None if row.rule.limit_ns is None else row.rule.limit_ns / native
                low = r.value if r.low is None else r.low
                high = r.value if r.high is None else r.high
                label = f"{one_line(row.sampler, 24)} V={row.n_vocab:,}"
                marked.append(Mark(label, r.value, low, high, limit))
    return marked


def ratios(timings: list[Timing], salt: str) -> str:
    """An <svg> element, or "" where nothing has a ratio. salt keeps its ids apart from others'."""
    shown = marks(timings)
    if not shown:
        return ""
    return picture(lambda figure: _draw(figure, shown), (6.4, 0.9 + 0.26 * len(shown)), salt)


def _draw(figure: "Figure", shown: list[Mark]) -> None:
    axes = figure.subplots()
    at = range(len(shown))
    below = [max(0.0, b.ratio - b.low) for b in shown]
    above = [max(0.0, b.high - b.ratio) for b in shown]
    axes.errorbar(
        [b.ratio for b in shown],
        at,
        xerr=[below, above],
        fmt="o",
        color=DOT,
        markersize=4,
        capsize=2,
    )
    for i, mark in enumerate(shown):
        if mark.limit is not None:
            axes.plot([mark.limit, mark.limit], [i - 0.35, i + 0.35], color=BAD, linewidth=2)
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yticks(at, [b.label for b in shown], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("median of the reference / median of llama.cpp", color=INK)
    plain(axes)
