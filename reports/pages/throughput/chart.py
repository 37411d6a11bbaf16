"""Pictures of the throughput page, as inline SVG: cost by vocabulary, tokens a second by sequences,
and what the timings detect."""

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.throughput.model import TimedRow, WidthRow
from sampler_parity.reports.pictures.picture import (
    COLOURS,
    INK,
    MARKS,
    WIDTH,
    legend,
    picture,
    plain,
)

Line = tuple[str, list[tuple[float, float]]]


def by_vocabulary(rows: list[TimedRow], salt: str) -> str:
    """Median time over V of the dearest eight chains, a panel a backend."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        group = row.id.removeprefix("timing/").split("/")[0]
        if not row.masked and row.last_n in (0, 64):
            panels[row.backend][group].append((row.n_vocab, row.median_ns / 1e3))
    dearest: dict[str, float] = {}
    for lines in panels.values():
        for group, points in lines.items():
            if len(points) > 1:
                dearest[group] = max(dearest.get(group, 0.0), max(points)[1])
    chosen = sorted(dearest, key=lambda group: -dearest[group])[: len(COLOURS)]
    shown = {
        name: [(group, sorted(lines[group])) for group in chosen if len(lines[group]) > 1]
        for name, lines in panels.items()
        if name != "null"
    }
    return _panels(
        {n: lines for n, lines in shown.items() if lines}, salt, "vocabulary", "µs a token"
    )


def by_sequences(rows: list[WidthRow], salt: str) -> str:
    """Tokens a second over sequences at once, a panel a model, a line a chain and backend."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        where = f"{row.chain}, {row.backend}"
        panels[row.model][where].append((row.sequences, row.generation.value))
    shown = {
        model: [(name, sorted(points)) for name, points in lines.items()][: len(COLOURS)]
        for model, lines in panels.items()
    }
    return _panels(shown, salt, "sequences at once", "tokens/s")


def detection(check: TimingCheckResult | None, salt: str) -> str:
    """The share of trials called slower over the time measured, a line a slow-down."""
    if check is None:
        return ""
    lines: list[Line] = [
        (
            f"{curve.percent:g}% slower" if curve.percent else "A/A (alarms)",
            [
                (s, (up + (down if not curve.percent else 0)) / curve.trials)
                for s, up, down in zip(curve.seconds, curve.slower, curve.faster, strict=True)
            ],
        )
        for curve in check.curves
    ]
    title = f"called slower by more than {check.effect:.0%}"
    return _panels({title: lines}, salt, "seconds measured", "share of trials", share=True)


def _panels(panels: dict[str, list[Line]], salt: str, x: str, y: str, share: bool = False) -> str:
    """An <svg> element, or "" where there is nothing. salt keeps its ids apart from others'."""
    if not panels:
        return ""
    inches = (WIDTH, 2.2 * len(panels) + 0.6)
    return picture(lambda figure: _draw(figure, panels, x, y, share), inches, salt)


def _draw(figure: "Figure", panels: dict[str, list[Line]], x: str, y: str, share: bool) -> None:
    # one thing has one colour in all panels
    labels = list(dict.fromkeys(label for lines in panels.values() for label, _ in lines))
    for axes, (title, lines) in zip(
        figure.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True
    ):
        for label, points in lines:
            i = labels.index(label)
            at, values = zip(*points, strict=True)
            shown = one_line(label, 40).removeprefix("_")
            axes.plot(
                at, values, f"{MARKS[i % 8]}-", color=COLOURS[i % 8], markersize=3, label=shown
            )
        axes.set_title(one_line(title, 60), color=INK, loc="left", fontsize=9)
        axes.set_xscale("log")
        if share:
            axes.set_ylim(-0.05, 1.05)
        else:
            axes.set_yscale("log")
        axes.set_ylabel(y, color=INK)
        axes.set_xlabel(x, color=INK)
        plain(axes)
    legend(figure)
