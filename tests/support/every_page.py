"""Every page of the reports, of ten bundles."""

from pathlib import Path

from sampler_parity.harness.comparison import history
from sampler_parity.reports.pages.history import HISTORY
from sampler_parity.reports.write import write_report
from tests.support.engines import properties_in
from tests.support.predicted import of_a_build, predicted_in
from tests.support.served import servers_in
from tests.support.several_bundles import (
    accuracy_in,
    calibration_in,
    invariance_in,
    two_that_differ,
)
from tests.support.skip_ratios import bundle_with, measured, named

PAGES = (
    "matrix",
    "parity",
    "invariance",
    "distribution",
    "calibration",
    "throughput",
    "skip-ratio",
    "platforms",
    "servers",
    "accuracy",
    "compare",
    "index",
)


def report_pages(folder: Path) -> dict[str, str]:
    """Return every HTML page of a report of ten bundles, by its name."""
    two_that_differ(folder)
    skipped = bundle_with(folder / "skipped", named("x/a", measured()))
    calibrated = calibration_in(folder / "calibrated")
    invariance = invariance_in(folder / "invariance")
    engines = properties_in(folder / "engines")
    foretold = [predicted_in(folder / "predicted").folder, of_a_build(folder / "wasm").folder]
    bundles = [folder / "xeon", folder / "mac", skipped.folder, calibrated, invariance, engines]
    bundles += [*foretold, servers_in(folder / "servers"), accuracy_in(folder / "accuracy")]
    paths = write_report(bundles, folder / "report", ["html"])
    return {path.name: path.read_text() for path in paths}


def history_page(folder: Path) -> str:
    two_that_differ(folder)
    history.add(folder / "h.sqlite", [folder / "xeon", folder / "mac"])
    made = HISTORY.made(folder / "h.sqlite")
    assert made is not None
    text = made.text("html")
    assert text is not None
    return text
