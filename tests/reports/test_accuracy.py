"""The accuracy page: figures in ULPs, plots over the size, and backends without figures."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.reports.page import terminal_lines
from sampler_parity.reports.pages.accuracy import (
    AccuracyReport,
    by_size,
    document,
    report_of,
    summary,
)
from sampler_parity.reports.writers.ci import markdown
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
