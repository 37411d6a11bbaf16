"""The skip-ratio page: its text, its model check, and untrusted texts."""

import math
from pathlib import Path

import pytest

from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.protocol.measured import LeafDivergence
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
from tests.support.report_bundles import HOSTILE
from tests.support.skip_ratios import GRAMMAR, TRIE, bundle_with, measured, named, way


def report(folder: Path, *results: SkipRatioResult) -> SkipRatioReport:
    made = report_of([bundle_with(folder, *results)])
    assert made is not None
    return made


def test_bundles_without_a_skip_ratio_have_no_page(tmp_path: Path) -> None:
    assert report_of([bundle_with(tmp_path / "b", cases=True)]) is None


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


@pytest.mark.slow
def test_the_page_is_well_formed_and_every_picture_has_a_name_and_a_table(tmp_path: Path) -> None:
    enums = [
        named(f"x/e{n}", measured(leaves=n), leaves=f"enum:{n}", model="random-128256")
        for n in (100, 2)
    ]
    page_of = report(tmp_path / "b", named("x/a", measured()), *enums)
    page = Page(html(document(page_of)))
    assert page.open == []
    assert [f["aria-label"] for f in page.all("figure")] == [
        "Chart over the number of leaves",
        "Chart over the time of a forward pass",
    ]
    assert len(page.all("svg")) == 2
    assert len(page.all("caption")) == len(page.all("table")) == 4
    assert all(th["scope"] in ("col", "row") for th in page.all("th"))
    assert "3.6 [3, 4]" in page.text
    assert "99%" in page.text


def test_the_overview_says_what_it_comes_to(tmp_path: Path) -> None:
    wrong = measured(token_accuracy=0.5, n_vocab=4096)
    page_of = report(tmp_path / "b", named("x/a", measured()), named("x/b", wrong))
    assert summary(page_of).headlines == [
        "1/2 measurements as required",
        "30 actions at V = 1,000: 3.6 [3, 4] times the tokens/s of grammar first",
        "30 actions at V = 4,096: 3.6 [3, 4] times the tokens/s of grammar first",
    ]


@pytest.mark.slow
def test_measurements_without_enumerations_have_one_picture(tmp_path: Path) -> None:
    page = Page(html(document(report(tmp_path / "b", named("x/a", measured())))))
    assert len(page.all("svg")) == 1


@pytest.mark.slow
def test_texts_of_others_are_no_markup_and_infinity_is_shown(tmp_path: Path) -> None:
    distribution = LeafDivergence(kl_trie=math.inf, kl_grammar=None, spellings=9, beyond_trie=0.5)
    bad = measured(law=distribution, device=HOSTILE, version=HOSTILE, model=HOSTILE)
    names = {"leaves": HOSTILE, "model": HOSTILE, "backend": HOSTILE}
    page_of = report(
        tmp_path / "b",
        named(HOSTILE, bad, **names),
        named("x", None, detail=HOSTILE, verdict="rejected"),
    )
    text = html(document(page_of))
    assert Page(text).open == []
    for made in (text, markdown(document(page_of))):
        assert "<script>alert" not in made
        assert "\x1b" not in made
        assert "inf" in made
    assert SkipRatioReport.model_validate_json(page_of.model_dump_json(indent=1)) == page_of


def test_the_skip_ratio_keeps_the_digits_that_tell_it_from_1() -> None:
    assert percent(0.999984) == "99.998%"
    assert percent(None) == "none"
    assert microseconds(1500.0) == "1.5 ms"
    assert GRAMMAR.forward_passes_per_token == 1.0
