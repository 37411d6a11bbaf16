"""The pictures of the skip-ratio page, as inline SVG: the tables beside them have the figures."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.skip_ratio.model import Row
from sampler_parity.reports.pictures.picture import (
    COLOURS,
    INK,
    MARKS,
    WIDTH,
    legend,
    picture,
    plain,
)

LINES = 6  # of the picture over decode times


def by_leaves(rows: list[Row]) -> str:
    """An <svg> element: of enumerations, by their number of leaves, what the trie leaves of the
    vocabulary and its speed-up, a line for each vocabulary and backend. "" without any."""
    shown = [row for row in rows if row.leaves.startswith("enum:") and not row.delay_ms]
    if not shown:
        return ""
    return picture(lambda figure: _over_leaves(figure, shown), (WIDTH, 5.0), "leaves")


def by_decode(rows: list[Row]) -> str:
    """An <svg> element: the modelled speed-up over decode times, with what was measured as dots."""
    texts = [row for row in rows if not row.leaves.startswith("enum:")]
    shown = [r for r in texts or rows if r.measured and r.measured.modelled.by_decode_ms]
    if not shown:
        return ""
    return picture(lambda figure: _over_decode(figure, shown), (WIDTH, 3.8), "decode")


def _over_leaves(figure: "Figure", rows: list[Row]) -> None:
    left, speed = figure.subplots(2, 1, sharex=True)
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(f"V={_vocab(row):,} {row.backend}", []).append(row)
    for i, (label, line) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": COLOURS[i % 8], "marker": MARKS[i % 8], "markersize": 4}
        points = [row.measured for row in line if row.measured]
        points.sort(key=lambda m: m.leaves)
        leaves = [m.leaves for m in points]
        left.plot(
            leaves, [1 - m.skip_ratio_mean for m in points], label=one_line(label, 40), **style
        )
        value = [m.tokens_per_second_vs_grammar for m in points]
        low = [m.tokens_per_second_vs_grammar_ci95[0] for m in points]
        high = [m.tokens_per_second_vs_grammar_ci95[1] for m in points]
        bars = [
            [max(0.0, v - x) for v, x in zip(value, low, strict=True)],
            [max(0.0, x - v) for v, x in zip(value, high, strict=True)],
        ]
        speed.errorbar(leaves, value, yerr=bars, capsize=2, **style)
    _axes(left, "share of V that is left")
    _axes(speed, "tokens/s over grammar first")
    speed.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    speed.set_xlabel("leaves", color=INK)
    legend(figure)


def _over_decode(figure: "Figure", rows: list[Row]) -> None:
    axes = figure.subplots()
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(f"{row.leaves} V={_vocab(row):,} {row.backend}", []).append(row)
    for i, (label, line) in enumerate(list(lines.items())[:LINES]):
        colour, mark = COLOURS[i % 8], MARKS[i % 8]
        for row in line:
            measured = row.measured
            assert measured is not None
            by_ms = measured.modelled.by_decode_ms or {}
            if not row.delay_ms:
                times = [float(ms) for ms in by_ms]
                axes.plot(times, list(by_ms.values()), color=colour, label=one_line(label, 40))
            here_ms = (measured.ways["grammar_first"].decode_us_mean or 0.0) / 1000
            low, high = measured.tokens_per_second_vs_grammar_ci95
            value = measured.tokens_per_second_vs_grammar
            bars = [[max(0.0, value - low)], [max(0.0, high - value)]]
            axes.errorbar([here_ms], [value], yerr=bars, color=colour, marker=mark, capsize=2)
    _axes(axes, "tokens/s over grammar first")
    axes.set_xlabel("ms of a forward pass", color=INK)
    axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    if axes.get_legend_handles_labels()[1]:
        legend(figure)


def _vocab(row: Row) -> int:
    return row.measured.n_vocab if row.measured else 0


def _axes(axes: "Axes", label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel(label, color=INK)
    plain(axes)
