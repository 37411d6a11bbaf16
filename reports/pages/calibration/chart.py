"""Power curves as inline SVG: one panel a test, one line a fault."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sampler_parity.harness.bundle.records.calibration import Curve
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pictures.picture import COLOURS, INK, WIDTH, legend, picture, plain

PANELS = 8  # of a picture; a calibration has 5


def power(curves: dict[str, list[Curve]], salt: str) -> str:
    """An <svg> element, or "" where there are no curves. salt keeps its ids apart from others'."""
    if not curves:
        return ""
    shown = dict(list(curves.items())[:PANELS])
    return picture(lambda figure: _draw(figure, shown), (WIDTH, 1.8 * len(shown) + 0.6), salt)


def _draw(figure: "Figure", curves: dict[str, list[Curve]]) -> None:
    faults = list(dict.fromkeys(curve.fault for panel in curves.values() for curve in panel))
    for axes, (title, panel) in zip(
        figure.subplots(len(curves), squeeze=False)[:, 0], curves.items(), strict=True
    ):
        for curve in panel:
            shares = [caught / curve.runs for caught in curve.caught]
            colour = COLOURS[faults.index(curve.fault) % len(COLOURS)]
            label = one_line(curve.fault, 24)
            axes.plot(curve.draws, shares, "o-", color=colour, markersize=3, label=label)
        axes.set_title(one_line(title, 60), color=INK, loc="left", fontsize=9)
        axes.set_xscale("log")
        axes.set_ylim(-0.05, 1.05)
        axes.set_ylabel("caught", color=INK)
        plain(axes)
    axes.set_xlabel("draws", color=INK)
    legend(figure)
