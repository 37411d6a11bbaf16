"""The skip-ratio page: its text, its model check, and untrusted texts."""

from pathlib import Path

import pytest

from sampler_parity.harness.checks.timed_records import SkipRatioResult, skip_ratios_unmet
from sampler_parity.reports.page import summary_lines, terminal_lines
from sampler_parity.reports.pages.skip_ratio.skip_ratio_model import SkipRatioReport, report_of
from sampler_parity.reports.pages.skip_ratio.skip_ratio_page import (
    document,
    microseconds,
    percent,
    summary,
)
from sampler_parity.reports.write import write_report
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import Page
from tests.support.skip_ratios import GRAMMAR, TRIE, bundle_with, measured, named, way


def report(folder: Path, *results: SkipRatioResult) -> SkipRatioReport:
    made = report_of([bundle_with(folder, *results)])
    assert made is not None
    return made


@pytest.mark.slow
def test_a_bundle_of_skip_ratios_alone_has_no_parity_page(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", named("x/a", measured()))
    written = write_report([bundle.folder], tmp_path / "r", ["json", "html", "md"])
    names = ["skip-ratio.json", "skip-ratio.html", "skip-ratio.md"]
    names += ["index.json", "index.md", "index.html"]
    assert [path.name for path in written] == names
    assert SkipRatioReport.model_validate_json(written[0].read_text()).ok
    assert not any("cases" in line for line in summary_lines(bundle))


@pytest.mark.slow
def test_a_bundle_of_both_has_both_pages_and_lines(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path / "b", named("x/a", measured()), cases=True)
    written = write_report([bundle.folder], tmp_path / "r", ["html"])
    assert {"parity.html", "skip-ratio.html", "index.html"} <= {path.name for path in written}
    lines = summary_lines(bundle)
    assert any(line.startswith("cases    1/1 as required") for line in lines)
    assert any(line.startswith("skip     1/1 as required") for line in lines)


@pytest.mark.slow
def test_what_fails_stands_first_with_its_reason_and_replay(tmp_path: Path) -> None:
    wrong = measured(token_accuracy=0.5)
    page_of = report(
        tmp_path / "b", named("x/a", measured()), named("x/b", wrong), named("x/c", None)
    )
    assert (page_of.ok, [row.ok for row in page_of.rows]) == (False, [False, False, True])
    assert page_of.rows[0].failed == ["token_accuracy is 0.5, required = 1"]
    assert page_of.rows[1].failed == ["crashed: "]
    assert "--case x/b -b llama.cpp" in page_of.rows[0].replay
    for text in (html(document(page_of)), markdown(document(page_of))):
        assert "FAILED" in text
        assert "required = 1" in text.replace("&#61;", "=")
    assert "FAILED x/b on llama.cpp" in terminal_lines(
        summary(report(tmp_path / "c", named("x/b", wrong)))
    )


def test_what_a_backend_does_not_claim_is_skipped_and_no_failure(tmp_path: Path) -> None:
    lacking = named("x/b", None).model_copy(
        update={"backend": "mine", "verdict": "unsupported", "detail": "has no chain"}
    )
    page_of = report(tmp_path / "b", named("x/a", measured()), lacking)
    said = "1/1 measurements as required, 1 skipped on mine: unsupported: has no chain"
    assert page_of.ok
    for text in (html(document(page_of)), markdown(document(page_of))):
        assert "FAILED" not in text
        assert "1 skipped on mine" in text
    lines = terminal_lines(summary(page_of))
    assert not any("FAILED" in line for line in lines)
    assert summary(page_of).headlines[0] == said
    assert not report(tmp_path / "c", lacking).ok  # nothing was measured
    results = [named("x/a", measured()), lacking]
    assert not skip_ratios_unmet(results)
    assert skip_ratios_unmet([lacking]) == [lacking]
    assert skip_ratios_unmet([*results, crashed := named("x/c", None)]) == [crashed]


def test_the_model_is_held_against_measurements_and_longer_passes(tmp_path: Path) -> None:
    """4000 / 550 = 7.27 modelled, 8 measured: -9.1%. With passes of 20 ms 23.1 / 10.05 = 2.30 is
    foretold, 2 measured: 14.9%."""
    base = named("x/a", measured(tokens_per_second_vs_grammar=8.0))
    ways = {"trie": TRIE, "grammar_first": way(1.0, 3000.0, 20_000.0)}
    other = named("x/b", measured(tokens_per_second_vs_grammar=2.0, ways=ways), delay_ms=19.1)
    page_of = report(tmp_path / "b", base, other)
    assert [row.modelled for row in page_of.rows] == pytest.approx([4000 / 550, 23.1 / 10.05])
    assert (page_of.points, page_of.foretold) == (1, 1)
    assert page_of.points_deviation == pytest.approx(1 - 4000 / 550 / 8)
    assert page_of.foretold_deviation == pytest.approx(23.1 / 10.05 / 2 - 1)
    alone = report(tmp_path / "c", other)
    assert (alone.rows[0].modelled, alone.points, alone.foretold) == (None, 0, 0)


def test_the_overview_says_what_it_comes_to(tmp_path: Path) -> None:
    wrong = measured(token_accuracy=0.5, n_vocab=4096)
    page_of = report(tmp_path / "b", named("x/a", measured()), named("x/b", wrong))
    assert summary(page_of).headlines == [
        "1/2 measurements as required",
        "30 actions at V = 1,000: 3.6 [3, 4] times the tokens/s of grammar first",
        "30 actions at V = 4,096: 3.6 [3, 4] times the tokens/s of grammar first",
    ]


def test_the_skip_ratio_keeps_the_digits_that_tell_it_from_1() -> None:
    assert percent(0.999984) == "99.998%"
    assert percent(None) == "none"
    assert microseconds(1500.0) == "1.5 ms"
    assert GRAMMAR.forward_passes_per_token == 1.0


@pytest.mark.slow
def test_enumerations_are_a_chart_over_their_leaves(tmp_path: Path) -> None:
    enums = [named(f"x/e{n}", measured(leaves=n), leaves=f"enum:{n}") for n in (100, 2)]
    page = Page(html(document(report(tmp_path / "b", *enums))))
    assert "Chart over the number of leaves" in [f["aria-label"] for f in page.all("figure")]
