"""Every report of a failure in a batch shows the row."""

from pathlib import Path

from sampler_parity.harness.bundle.records import LiveRow
from sampler_parity.harness.failures.explain import explanation, overview
from sampler_parity.reports.page import terminal_lines
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_page import document, summary
from sampler_parity.reports.pages.parity.parity_summary import junit_tests
from sampler_parity.reports.writers.ci import junit, markdown
from sampler_parity.reports.writers.html import html
from tests.support.report_bundles import bundle_of, case, diverged, run_info

PLACE = "step 3 of 8, row 5 of 17, stage dist"


def test_the_row_of_a_batch_is_reported_on_every_page_and_at_the_terminal(tmp_path: Path) -> None:
    of_row = diverged(step=2, stage="dist", stage_index=None, row=LiveRow(at=4, of=17))
    cases = [case("rows/a", {"mine": of_row}, steps=8, suite="batch/rows")]
    bundle = bundle_of(tmp_path / "b", run_info("mine"), cases)
    report = report_of([bundle])
    assert f"  DIVERGED rows/a   mine 1.0, {PLACE}" in terminal_lines(summary(report))
    assert f"  DIVERGED rows/a   mine 1.0, {PLACE}" in list(overview(bundle.folder))
    first = next(explanation(bundle.folder, "rows/a"))
    assert first == "DIVERGED rows/a   mine 1.0 vs reference, " + PLACE
    for text in (
        html(document(report)),
        markdown(document(report)),
        junit(junit_tests(report, [bundle])),
    ):
        assert PLACE in text
