"""Lines over the runs of a history, as inline SVG."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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


class Line(NamedTuple):
    """values: by run; None: the run lacks it."""

    name: str
    values: list[float | None]


def trend(labels: list[str], lines: list[Line], what: str, salt: str) -> str:
    """An <svg> element, or "" without a line. salt keeps its ids apart from others'."""
    if not lines:
        return ""
    inches = (WIDTH, 2.4 + 0.2 * len(lines))
    return picture(lambda figure: _draw(figure, labels, lines, what), inches, salt)


def _draw(figure: "Figure", labels: list[str], lines: list[Line], what: str) -> None:
    axes = figure.subplots()
    for i, line in enumerate(lines):
        known = [(at, y) for at, y in enumerate(line.values) if y is not None]
        (drawn,) = axes.plot(
            [at for at, _ in known],
            [y for _, y in known],
            marker=MARKS[i % len(MARKS)],
            color=COLOURS[i % len(COLOURS)],
            markersize=4,
        )
        drawn.set_label(one_line(line.name, 60))
    step = max(1, len(labels) // 8)
    axes.set_xticks(range(0, len(labels), step), labels[::step], rotation=30, ha="right")
    axes.set_ylabel(what, color=INK)
    legend(figure)
    plain(axes)
