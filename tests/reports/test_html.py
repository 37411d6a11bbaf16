"""The parity page in HTML: escaped, self-contained, accessible, readable on a phone."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_findings import CARDS, CASES
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.writers.html import html
from tests.support.chromium import See, Seen
from tests.support.html_page import Page
from tests.support.report_bundles import bundle_of, case, diverged, got, hostile_bundle, run_info

LONG = "top_p/" + "a-long-case-id-without-a-break_" * 8


def page_of(folder: Path, *cases: CaseResult) -> Page:
    bundle = bundle_of(folder / "x", run_info("native"), list(cases))
    return Page(html(document(report_of([bundle]))))


def test_html_shows_a_divergence_with_values_counterexample_and_command(tmp_path: Path) -> None:
    five = ["penalties", "top_k", "top_p", "temp", "dist"]
    small = {"chain": [{"top_p": {"p": 0.5}}]}
    page = page_of(tmp_path, case("a", {"native": diverged()}, samplers=five, counterexample=small))
    for words in (
        "FAILED: 0/1 cases as required on every backend.",
        "1 case diverges at top_p: keeps 63 fewer than p allows",
        "DIVERGED a on native, stage 3 of 5 (top_p), step 1 of 1. Required: identical.",
        "Smallest input: top_p p=0.5 on logits none",
        "survivors 10395 10458",
        "p at rank 7 (id 4711) 0.25 0.5",
        'chain: [{"top_p": {"p": 0.5}}]',
        "sampler-parity run parity/top_p --case a -b native",
    ):
        assert words in page.text


def test_html_tells_of_cases_with_one_cause_on_one_card_and_counts_the_rest(tmp_path: Path) -> None:
    page = page_of(tmp_path, *(case(f"case-{i:03}", {"native": diverged()}) for i in range(130)))
    assert len(page.all("article")) == 1
    assert "130 cases diverge at top_p: keeps 63 fewer than p allows" in page.text
    assert f"{CASES} of 130 results" in page.text
    assert f"{130 - CASES} more cases are in the JSON." in page.text
    for i in range(CASES):
        assert f"--case case-{i:03} -b native" in page.text


def test_html_of_cases_that_were_skipped_says_how_many(tmp_path: Path) -> None:
    cases = [case(name, {"native": got("skipped", detail="no dry")}) for name in ("a", "b")]
    page = page_of(tmp_path, case("c", {"native": diverged()}), *cases)
    assert "2 cases are skipped" in page.text
    assert "All 0 results" not in page.text


def test_html_begins_with_the_worst_group_and_folds_all_but_a_few(tmp_path: Path) -> None:
    stages = [f"s{i}" for i in range(CARDS + 3)]
    cases = [
        case(f"u{i}", {"native": got("unsupported", detail="no sampler x")}) for i in range(99)
    ]
    cases += [case(s, {"native": diverged(stage=s)}, samplers=[s]) for s in stages]
    cases += [case("crash", {"native": got("crashed", detail="signal SIGSEGV")})]
    page = page_of(tmp_path, *cases)
    texts = [
        "1 case crashes: signal SIGSEGV",
        *(f"1 case diverges at {stage}: keeps 63 fewer than the reference" for stage in stages),
        "99 cases are not supported: no sampler x",
    ]
    places = [page.text.index(text) for text in texts]
    assert places == sorted(places)
    assert places[0] < page.text.index("Version, build, device")
    assert len(page.all("article")) == CARDS


def test_html_of_an_empty_run_says_failed(tmp_path: Path) -> None:
    assert "FAILED: the bundle holds no case." in page_of(tmp_path).text


@pytest.mark.slow
def test_html_of_hostile_texts_does_not_overflow_and_runs_nothing(see: See, tmp_path: Path) -> None:
    name = "x" * 300
    long = case(LONG, {name: diverged(detail="y" * 3000, values={"got": "z" * 500})})
    bundle = bundle_of(tmp_path / "long", run_info(name), [long])
    read = [bundle, read_finished(hostile_bundle(tmp_path / "hostile"))]
    assert see(html(document(report_of(read))), 390) == [Seen(390, "Parity report: FAILED", [])]


@pytest.mark.slow
def test_overflow_and_script_errors_are_seen_where_they_are(see: See) -> None:
    page = "<title>x</title><div style='width:600px'>wide</div><script>nothing.here</script>"
    right, seen = see(["<title>y</title>narrow", page], 390)
    assert (right.scroll_width, right.title) == (390, "y")
    assert seen.scroll_width > 600
    assert "nothing is not defined" in seen.console[0]


@pytest.mark.slow
def test_policy_of_the_report_stops_a_script_that_got_in(see: See, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path / "x", run_info("x"), [case("a", {"x": diverged()})])
    script = "<script>document.title='ran'</script></main>"
    (seen,) = see(html(document(report_of([bundle]))).replace("</main>", script), 1280)
    assert seen.title == "Parity report: FAILED"
    assert "Content Security Policy" in seen.console[0]


def test_a_suite_that_was_measured_is_no_row_and_one_without_a_case_is_not_red(
    tmp_path: Path,
) -> None:
    suites = {"parity/top_p": "1", "parity/none": "2", "timing/x": "3"}
    ns = {"reference": [300, 310], "llama.cpp": [100, 100], "null": [5, 6]}
    timed = TimingResult(id="timing/top_p", suite="timing/x", sampler="top_p", n_vocab=1000, ns=ns)
    info = run_info("llama.cpp", suites=suites)
    bundle = bundle_of(tmp_path / "x", info, [case("a", {"llama.cpp": got()})], [timed])
    text = html(document(report_of([bundle])))
    assert "ok: 1/1 cases" in text
    assert "timing/x" not in text
    rows = text[text.index("parity/none") :].partition("</tr>")[0]
    assert 'class="quiet"' in rows
    assert "no case" in rows
    assert "0/0" not in text
    assert 'class="bad"' not in text
