"""harness/comparison/history.py and its page: bundles of many dates, each counted once."""

import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.cli.app import app
from sampler_parity.harness.comparison import history
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.pages.history import HistoryReport, document, identical_lines, report_of
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import Page
from tests.support.report_bundles import HOSTILE, case, got, run_info
from tests.support.several_bundles import bundle_on, cell_on, timing_on


def three_dates(folder: Path) -> list[Path]:
    """Identical, then one case reordered (and so failed), then identical again; given unordered."""
    folders = []
    days: list[tuple[int, Verdict]] = [(2, "reordered"), (1, "identical"), (3, "identical")]
    for day, verdict in days:
        bundle = bundle_on(
            folder / f"day-{day}",
            {"a": "identical", "b": verdict},
            (
                timing_on("llama.cpp", [100, 100, 100]),
                cell_on("llama.cpp", "equivalent", 0.0, 0.05),
            ),
            started=f"2026-01-0{day}T00:00:00+00:00",
        )
        folders.append(bundle.folder)
    return folders


def cli(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["history", *map(str, arguments)])


def test_runs_stand_in_the_order_of_their_dates(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    history.add(file, three_dates(tmp_path))
    assert [(run.name, run.met, run.cases) for run in history.runs(file)] == [
        ("day-1", 2, 2),
        ("day-2", 1, 2),
        ("day-3", 2, 2),
    ]
    assert [(run.tests_met, run.tests) for run in history.runs(file)] == [(1, 1)] * 3
    by_addition = [(row.run, row.cases, row.met) for row in history.counts(file)]
    assert by_addition == [(1, 2, 1), (2, 2, 2), (3, 2, 2)]


def test_a_bundle_added_again_is_not_counted_again(tmp_path: Path) -> None:
    file, bundles = tmp_path / "h.sqlite", three_dates(tmp_path)
    assert [new for _, new in history.add(file, bundles)] == [True, True, True]
    before = history.counts(file), history.measured(file)
    copy = tmp_path / "another-name"
    bundles[0].rename(copy)
    assert [new for _, new in history.add(file, [copy, bundles[1]])] == [False, False]
    assert (history.counts(file), history.measured(file)) == before
    assert len(history.runs(file)) == 3


def test_an_unfinished_bundle_is_refused_and_nothing_of_the_call_is_kept(tmp_path: Path) -> None:
    file, bundles = tmp_path / "h.sqlite", three_dates(tmp_path)
    history.add(file, bundles[:1])
    create(tmp_path / "torn", run_info("a")).append(case("x", {"a": got()}))
    with pytest.raises(InputError, match="has no footer: the run did not finish"):
        history.add(file, [bundles[1], tmp_path / "torn"])
    assert len(history.runs(file)) == 1


def test_a_bundle_cut_off_in_mid_line_is_refused(tmp_path: Path) -> None:
    bundle = three_dates(tmp_path)[0]
    path = bundle / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="cut off in mid-line"):
        history.add(tmp_path / "h.sqlite", [bundle])
    assert not (tmp_path / "h.sqlite").exists()


@pytest.mark.parametrize(("rounds", "interval"), [(8, (2.0, 2.0)), (3, (None, None))])
def test_ratios_are_to_the_baseline_of_the_same_run(
    tmp_path: Path, rounds: int, interval: tuple[float | None, float | None]
) -> None:
    native_ns = list(range(100, 100 + rounds))
    ns = {"mine": [2 * x for x in native_ns], "llama.cpp": native_ns}
    timing = timing_on("mine", []).model_copy(update={"ns": ns})
    bundle = bundle_on(tmp_path / "a", {"x": "identical"}, (timing,))
    history.add(tmp_path / "h.sqlite", [bundle.folder])
    native, mine = history.measured(tmp_path / "h.sqlite")
    assert (native.backend, native.ratio) == ("llama.cpp", None)
    assert (mine.value, mine.ratio) == (2 * native.value, 2.0)
    assert (mine.low, mine.high) == interval


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such history - make it: sampler-parity history add BUNDLE"),
        (
            b"no database at all, only a text that is long enough" * 20,
            "cannot be used as a history",
        ),
    ],
)
def test_show_refuses_what_is_no_history(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "h.sqlite").write_bytes(content)
    error = cli("show", "-d", tmp_path / "h.sqlite").exception
    assert isinstance(error, InputError)
    assert message in str(error)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    file, bundles = tmp_path / "h.sqlite", three_dates(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(InputError, match="is a database of another program"):
        history.add(file, bundles)


def test_a_history_of_another_format_is_refused(tmp_path: Path) -> None:
    file, bundles = tmp_path / "h.sqlite", three_dates(tmp_path)
    history.add(file, bundles)
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="has format 99, this version reads 1"):
        history.runs(file)


@pytest.mark.slow
def test_commands_add_and_show_write_the_trend(tmp_path: Path) -> None:
    file, bundles = tmp_path / "h.sqlite", three_dates(tmp_path)
    assert cli("add", *bundles, "-d", file).stdout.count("added") == 3
    assert cli("add", bundles[0], "-d", file).stdout == f"{bundles[0]}  is in it already\n"
    done = cli("show", "-d", file, "-o", tmp_path / "out")
    assert "day-2   1/2 cases as required" in done.stdout
    page = Page((tmp_path / "out" / "history.html").read_text())
    assert "1/2 identical, 1 failed" in page.text
    assert len(page.all("svg")) == 1  # of identical cases; nothing has a ratio
    read = HistoryReport.model_validate_json((tmp_path / "out" / "history.json").read_text())
    assert [point and point.met for point in read.samplers[0].runs] == [2, 1, 2]
    assert "1/2 identical, 1 failed" in (tmp_path / "out" / "history.md").read_text()


@pytest.mark.slow
def test_hostile_texts_are_no_markup(tmp_path: Path) -> None:
    bundle = bundle_on(
        tmp_path / "a",
        {HOSTILE: "identical"},
        (timing_on(f"${HOSTILE}$", [1, 2]),),
        backend=f"${HOSTILE}$",
        cpu=HOSTILE,
    )
    history.add(tmp_path / "h", [bundle.folder])
    report = report_of(tmp_path / "h")
    assert not Page(html(document(report))).all("script")
    assert "\u202e" not in html(document(report)) + markdown(document(report))
    assert "<script" not in markdown(document(report))


def test_a_history_whose_verdicts_count_no_cases_is_drawn_without_their_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "h.sqlite"
    history.add(file, three_dates(tmp_path))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE verdict SET cases = 0, met = 0")
    assert identical_lines(report_of(file)) == []
    assert cli("show", "-d", file, "-o", tmp_path / "p").exit_code == 0
