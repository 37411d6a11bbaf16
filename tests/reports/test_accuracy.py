"""The accuracy page: figures in ULPs, plots over the size, and backends without figures."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.checks.accuracy import AccuracyResult
from sampler_parity.reports.page import terminal_lines
from sampler_parity.reports.pages.accuracy import (
    AccuracyReport,
    by_size,
    document,
    report_of,
    summary,
    ulps,
)
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import problems
from tests.support.several_bundles import accuracy_in


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> AccuracyReport:
    made = report_of([read(accuracy_in(tmp_path_factory.mktemp("accuracy") / "here"))])
    assert made is not None
    return made


def test_the_terminal_names_the_largest_errors_and_their_places(report: AccuracyReport) -> None:
    assert terminal_lines(summary(report)) == [
        "accuracy x: p is off by up to 0.5 ULPs (dist, V = 32)",
        "accuracy y: p is off by up to 28,500 ULPs (dist, V = 32), the kept mass by 0.000163"
        " (top_p, V = 128,256)",
        "accuracy z: crashed: no more",
    ]


def test_markdown_has_the_largest_vocabulary(report: AccuracyReport) -> None:
    rows = [line for line in markdown(document(report)).splitlines() if line.startswith("| <code>")]
    assert len(rows) == 2 * 3
    assert rows[4].endswith(
        "| 128,256 | <code>y</code> | 2,030 / 28,500 | 0.455 / 3,100 | 0.000166 | -11 | -0.000163 |"
    )
    assert "| <code>z</code> | <code>crashed&#58; no more</code> |" in rows[5]


@pytest.mark.slow
def test_the_page_has_a_plot_for_all_and_for_each_sampler(report: AccuracyReport) -> None:
    text = html(document(report))
    assert text.count("<svg") == 3
    assert problems(text) == []


@pytest.mark.slow
def test_a_panel_without_errors_is_left_out(report: AccuracyReport) -> None:
    def titles(sampler: str) -> list[str]:
        drawn = by_size([row for row in report.rows if row.sampler == sampler], "a")
        return [word for word in ("p: largest", "running mass", "mass kept") if word in drawn]

    assert titles("dist") == ["p: largest", "running mass"]
    assert titles("top_p") == ["p: largest", "running mass", "mass kept"]
    assert by_size([row for row in report.rows if row.backend == "z"], "a") == ""


def test_backends_of_several_bundles_have_the_name_of_theirs(tmp_path: Path) -> None:
    made = report_of([read(accuracy_in(tmp_path / name)) for name in ("a", "b")])
    assert made is not None
    assert {row.backend for row in made.rows} == {f"{x} of {y}" for x in "xyz" for y in "ab"}


def test_a_bundle_without_such_a_measurement_has_no_page(tmp_path: Path) -> None:
    bundle = read(accuracy_in(tmp_path / "b"))
    bundle.of(AccuracyResult).clear()
    assert report_of([bundle]) is None


@pytest.mark.parametrize(
    ("error", "text"), [(0.4984, "0.498"), (99.96, "100"), (463.2, "463"), (28512.0, "28,500")]
)
def test_an_error_has_three_digits(error: float, text: str) -> None:
    assert ulps(error) == text
