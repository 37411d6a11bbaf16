"""The invariance page: a row for each backend, a chart where logits differ."""

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.reports.page import terminal_lines
from sampler_parity.reports.pages.invariance import InvarianceReport, document, report_of, summary
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import problems
from tests.support.several_bundles import invariance_in


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> InvarianceReport:
    folder = invariance_in(tmp_path_factory.mktemp("invariance") / "here")
    made = report_of([read(folder)])
    assert made is not None
    return made


def test_the_terminal_says_at_which_widths_logits_differ(report: InvarianceReport) -> None:
    assert terminal_lines(summary(report)) == [
        "width    x   24/24 rows as alone to the bit",
        "width    y   9/16 rows as alone to the bit, not at 4; logits differ by up to 0.25",
        "width    z   crashed: no more",
    ]


def test_markdown_has_a_row_for_each_width(report: InvarianceReport) -> None:
    rows = [line for line in markdown(document(report)).splitlines() if line.startswith("| <code>")]
    assert len(rows) == 3 + 2 + 1
    assert (
        rows[4] == "| <code>y</code> of <code>here</code> | 4 | 1/8 | 0.25 | 0.0002 | 1e-05 | 7/8 |"
    )


@pytest.mark.slow
def test_the_chart_is_drawn_where_logits_differ(report: InvarianceReport) -> None:
    text = html(document(report))
    assert "<svg" in text
    assert problems(text) == []
    same = InvarianceReport(rows=[row for row in report.rows if row.backend == "x"])
    assert "<svg" not in html(document(same))
