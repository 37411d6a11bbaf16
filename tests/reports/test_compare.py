"""The comparison: the page, its size, Markdown, JSON, the terminal, the command."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.cli.app import app
from sampler_parity.harness.errors import InputError
from sampler_parity.reports.page import ReadyPage, terminal_lines
from sampler_parity.reports.pages.compare.compare_model import CompareReport, report_of
from sampler_parity.reports.pages.compare.compare_page import COMPARE, MOST_ROWS, document, summary
from sampler_parity.reports.write import write_report
from sampler_parity.reports.writers.ci import MOST_CHARACTERS, markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import Page
from tests.support.report_bundles import HOSTILE, case, got, run_info
from tests.support.several_bundles import (
    bundle_on,
    cell_on,
    ten_bundles,
    timing_on,
    two_that_differ,
)

MOST_BYTES = 5_000_000


def comparison(*bundles: Bundle) -> CompareReport:
    report = report_of(list(bundles))
    assert report is not None
    return report


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_page_says_what_differs_where_and_how_to_replay_it(tmp_path: Path) -> None:
    text = Page(html(document(comparison(*two_that_differ(tmp_path))))).text
    for words in (
        "DIFFERENT: another verdict in 2/3 comparisons of a case.",
        "a parity/top_p identical reordered at top_p",
        "sampler-parity run parity/top_p --case a -b llama.cpp",
        "0/1 1 0.25",  # equal prompts, rows kept, largest difference
        "different 0.15 [0.1, 0.2]",
        "3 × [2.94, 3.06]",
        "Apple M9",
    ):
        assert words in text


def colours(report: CompareReport) -> list[str]:
    """Return the colours of a page: of its state, then of each cell that has one."""
    return re.findall(r'class="(?:state |n )?(good|fair|bad)"', html(document(report)))


def test_what_is_better_than_its_base_is_green_and_what_is_worse_is_red(tmp_path: Path) -> None:
    good = bundle_on(tmp_path / "good", {"a": "identical", "b": "identical"})
    bad = bundle_on(tmp_path / "bad", {"a": "diverged", "b": "identical"})
    improved, worse = comparison(bad, good), comparison(good, bad)
    assert colours(improved) == ["fair", "fair", "good"]
    assert colours(worse) == ["bad", "bad", "bad"]
    assert "1/2, 1 better" in html(document(improved))
    assert "in 1/2 comparisons of a case, none of them worse." in html(document(improved))
    assert "none of them worse" not in html(document(worse))


def test_bundles_of_other_things_have_nothing_in_common_and_that_is_not_red(tmp_path: Path) -> None:
    cases = bundle_on(
        tmp_path / "a", {"a": "identical"}, (cell_on("llama.cpp", "different", 0, 1),)
    )
    timed = bundle_on(tmp_path / "b", {}, (timing_on("llama.cpp", [100, 101]),))
    more = bundle_on(tmp_path / "c", {"a": "identical"})
    report = comparison(cases, timed, more)
    assert not report.ok
    assert "nothing in common" in html(document(report))
    assert "0/0" not in html(document(report))
    assert "bad" not in colours(report)


def test_a_cell_that_comes_nearer_to_its_distribution_is_no_red_row(tmp_path: Path) -> None:
    far = cell_on("llama.cpp", "different", 0.1, 0.2)
    near = cell_on("llama.cpp", "equivalent", 0.0, 0.01)
    one = bundle_on(tmp_path / "a", {"a": "identical"}, (far,))
    two = bundle_on(tmp_path / "b", {"a": "identical"}, (near,))
    assert '<td class="good">apart' in html(document(comparison(one, two)))
    assert '<td class="bad">apart' in html(document(comparison(two, one)))


def test_terminal_says_the_same_in_lines(tmp_path: Path) -> None:
    assert terminal_lines(summary(comparison(*two_that_differ(tmp_path)))) == [
        "compare  llama.cpp of xeon   the first of its kind",
        "compare  llama.cpp of mac   2/3 verdicts differ",
        "  1 cases as a: llama.cpp of xeon identical, llama.cpp of mac reordered at top_p",
        "    replay: sampler-parity run parity/top_p --case a -b llama.cpp",
        "  1 cases as dist/a: llama.cpp of xeon equivalent, llama.cpp of mac different",
        "    replay: sampler-parity run parity/dist --case dist/a -b llama.cpp",
        "logits   llama.cpp of mac   0/1 prompts equal to the bit   kept rows differ by up to 0.25",
        "speed    timing/top_p   llama.cpp of mac   3 × [2.94, 3.06]",
        "speed    1/1 figures surely differ from the base's",
        "facts    differ in processor, C library",
        "compare  DIFFERENT: another verdict in 2/3 comparisons of a case.",
    ]


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> CompareReport:
    """Ten bundles of 1,500 cases, 100 timings and 50 distribution tests."""
    return comparison(*ten_bundles(tmp_path_factory.mktemp("ten"), 1500))


@pytest.mark.parametrize("name", ["html", "json"])
@pytest.mark.nightly
def test_ten_bundles_make_a_report_of_less_than_5_mb(ten: CompareReport, name: str) -> None:
    text = ReadyPage(COMPARE, [], ten).text(name)
    assert text is not None
    assert len(text.encode()) < MOST_BYTES
    assert "machine-9" in text


@pytest.mark.nightly
def test_ten_bundles_lose_no_difference_to_the_bound(ten: CompareReport) -> None:
    parted = {name for row in ten.verdicts for name in row.cases}
    assert len(parted) == 1500 // 7 + 1
    assert [column.differing for column in ten.columns] == [0, *[len(parted)] * 9]
    assert len(ten.speeds) == MOST_ROWS == 100
    assert len(markdown(document(ten))) <= MOST_CHARACTERS


def test_hostile_texts_are_no_markup_and_no_control_characters(tmp_path: Path) -> None:
    worse = got("diverged", stage=HOSTILE)
    one = bundle_on(tmp_path / "a", {HOSTILE: "identical"}, backend=HOSTILE, cpu=HOSTILE)
    two = bundle_on(tmp_path / "b", {HOSTILE: worse}, backend=HOSTILE, libc=HOSTILE)
    report = comparison(one, two)
    text = html(document(report))
    assert not Page(text).all("script")
    assert "\u202e" not in text + markdown(document(report))
    assert "<script" not in text + markdown(document(report))
    assert all(line.isprintable() for line in ReadyPage(COMPARE, [one, two], report).terminal_lines)


def test_command_exits_with_1_where_a_verdict_differs_and_with_0_where_none_does(
    tmp_path: Path,
) -> None:
    two_that_differ(tmp_path)
    done = compare(tmp_path / "xeon", tmp_path / "mac", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "reordered at top_p" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"compare.html", "compare.md", "compare.json"}
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["schema_version"] == 1
    assert compare(tmp_path / "xeon", tmp_path / "xeon").exit_code == 0


def test_command_refuses_what_it_cannot_judge(tmp_path: Path) -> None:
    bundle_on(tmp_path / "a", {"x": "identical"})
    bundle_on(tmp_path / "b", {"y": "identical"})
    create(tmp_path / "torn", run_info("llama.cpp")).append(case("x", {"llama.cpp": got()}))
    for arguments, message in (
        (["a"], "1 bundle given - name two or more"),
        (["a", "b"], "have a case, a prompt or a time in common - run the same suites"),
        (["a", "torn"], "has no footer: the run did not finish"),
        (["a", "nothing"], "missing - name a folder that `sampler-parity run` wrote"),
    ):
        error = compare(*(tmp_path / name for name in arguments)).exception
        assert isinstance(error, InputError)
        assert message in str(error)


@pytest.mark.slow
def test_report_of_several_bundles_has_the_comparison_as_a_page(tmp_path: Path) -> None:
    two_that_differ(tmp_path)
    both = [tmp_path / "xeon", tmp_path / "mac"]
    names = {path.name for path in write_report(both, tmp_path / "out", ["html"])}
    own = {"parity.html", "distribution.html", "throughput.html", "index.html"}
    assert names == {*own, "compare.html"}
    alone = {path.name for path in write_report(both[:1], tmp_path / "one", ["html"])}
    assert alone == own
