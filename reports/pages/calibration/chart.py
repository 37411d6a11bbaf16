"""Power curves: one panel a test, one line a fault."""

from sampler_parity.harness.bundle.records.calibration import Curve
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels

PANELS = 8  # of a picture; a calibration has 5


def power(curves: dict[str, list[Curve]], salt: str) -> str:
    """Return an <svg> element, or "" without curves. salt keeps its ids apart from others'."""
    shown = [
        Panel(name, [_line(curve) for curve in of_test], y="caught", log="x", share=True)
        for name, of_test in [*curves.items()][:PANELS]
    ]
    return panels(shown, "draws", salt)


def _line(curve: Curve) -> PlotLine:
    shares = [caught / curve.runs for caught in curve.caught]
    return PlotLine(curve.fault, [*zip(curve.draws, shares, strict=True)])
