"""The parity page in HTML: escaped, self-contained, accessible, readable on a phone."""

import re
from importlib.resources import files
from itertools import pairwise
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
from tests.support.report_bundles import (
    bundle_of,
    case,
    diverged,
    got,
    hostile_bundle,
    run_info,
    write_bundle,
)

LONG = "top_p/" + "a-long-case-id-without-a-break_" * 8


# For each visible table: does it continue at its right, and does it fade there?
FADES = """(page) => [...page.querySelectorAll('.scroll')]
  .filter(table => table.checkVisibility({ contentVisibilityAuto: true }))
  .map(table => {
    const { maskImage, borderRightColor } = page.defaultView.getComputedStyle(table);
    const faded = maskImage.includes('gradient') && borderRightColor !== 'rgba(0, 0, 0, 0)';
    const goesOn = table.scrollWidth > table.clientWidth;
    return (goesOn ? 'goes-on:' : 'fits:') + (faded ? 'fades' : maskImage);
  })
  .join(' ')"""


def timings(scale: int = 1) -> list[TimingResult]:
    ns = {"reference": [300 * scale, 310 * scale], "llama.cpp": [100, 100], "null": [5, 6]}
    return [TimingResult(id="timing/top_p", sampler="top_p", n_vocab=128256, ns=ns)]


def full_page(folder: Path) -> str:
    """A report of two bundles with everything in it: failures, allowed ones, problems, timings."""
    cases = [
        case(LONG, {"llama.cpp": diverged(detail="x" * 900), "null": got()}),
        case("b", {"llama.cpp": got("reordered"), "null": got("crashed", detail="SIGSEGV")}),
        case("c", {"llama.cpp": got(), "null": got()}, refusal="p is NaN"),
        case("d", {"llama.cpp": got()}, required={"llama.cpp": ["identical"]}),
    ]
    cases[1] = cases[1].model_copy(
        update={"required": {"llama.cpp": ["reordered"], "null": ["identical"]}}
    )
    small = {"chain": [{"top_p": {"p": 0.5}}], "logits": {"rows": [[0.125] * 24]}}
    cases[0] = cases[0].model_copy(update={"counterexample": small})
    first = bundle_of(folder / "one", run_info("llama.cpp", "null"), cases, timings())
    second = bundle_of(
        folder / "two", run_info("llama.cpp"), [case("a", {"llama.cpp": got()})], timings(2000)
    )
    return html(document(report_of([first, second])))


def page_of(folder: Path, *cases: CaseResult) -> Page:
    return Page(
        html(document(report_of([bundle_of(folder / "x", run_info("native"), list(cases))])))
    )


@pytest.mark.slow
def test_html_escapes_everything_that_others_choose(tmp_path: Path) -> None:
    text = html(document(report_of([read_finished(hostile_bundle(tmp_path / "x"))])))
    page = Page(text)
    assert not page.all("script")
    assert not [a for _, attributes in page.elements for a in attributes if a.startswith("on")]
    shown = "<script>alert(1)</script>&\"'|`*_[x](y)\\x00\\x1b[31m\\u202e @you"
    # ids, backend, suite, sampler, detail, values, refusal, machine, counterexample at the least
    assert page.text.count(shown) > 30
    assert "\x00" not in text
    assert "\u202e" not in text


@pytest.mark.slow
def test_html_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    assert not page.all("script", "iframe", "object", "embed", "img", "base", "form")
    assert not [attributes for _, attributes in page.elements if "src" in attributes]
    for _, attributes in page.elements:
        for key in ("href", "xlink:href"):
            assert attributes.get(key, "#").startswith(("#", "data:,"))
    css = (files("sampler_parity.reports") / "templates" / "page.css").read_text()
    assert "url(" not in css
    assert "@import" not in css
    policy = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


@pytest.mark.slow
def test_html_tables_have_captions_and_scopes(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    assert len(page.all("table")) == len(page.all("caption")) > 10
    scopes = {"col", "row", "rowgroup"}
    assert all(attributes.get("scope") in scopes for attributes in page.all("th"))


@pytest.mark.slow
def test_html_ids_are_unique_and_every_reference_has_its_target(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    wanted |= {a["href"][1:] for a in page.all("a")}
    wanted |= {a["xlink:href"][1:] for a in page.all("use")}
    assert wanted - set(ids) == set()


@pytest.mark.slow
def test_html_everything_that_scrolls_has_a_name_and_takes_the_focus(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    scrolling = [a for _, a in page.elements if "scroll" in a.get("class", "").split()]
    assert len(scrolling) > 10
    for attributes in scrolling:
        assert attributes["tabindex"] == "0"
        assert "aria-labelledby" in attributes or "aria-label" in attributes


@pytest.mark.slow
def test_html_headings_do_not_skip_a_level(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


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


def test_html_ids_of_groups_are_their_anchors_and_those_of_two_bundles_differ(
    tmp_path: Path,
) -> None:
    one, two = (
        bundle_of(tmp_path / name, run_info("x"), [case("a", {"x": diverged()})])
        for name in ("one", "two")
    )
    (group,) = report_of([one]).sections[0].findings
    alone, both = (Page(html(document(report_of(bundles)))) for bundles in ([one], [one, two]))
    ids = [[a["id"] for _, a in page.elements if "id" in a] for page in (alone, both)]
    assert group.anchor in ids[0]
    assert {f"b1-{group.anchor}", f"b2-{group.anchor}"} <= set(ids[1])


def test_html_of_an_empty_run_says_failed(tmp_path: Path) -> None:
    assert "FAILED: the bundle holds no case." in page_of(tmp_path).text


@pytest.mark.slow
def test_html_speed_names_ratio_interval_and_rule(tmp_path: Path) -> None:
    info = run_info("llama.cpp")
    cases = [case("a", {"llama.cpp": got()})]
    slow = bundle_of(tmp_path / "slow", info, cases, timings(2000))
    text = Page(html(document(report_of([slow])))).text
    # medians 610,000 and 100 ns; limit 2 * 100 + 50,000 ns; rounds of 6,000 and 6,200 times
    assert "610 µs" in text
    assert "6.1e+03 × [6e+03, 6.2e+03]" in text
    assert "NOT met: at most 50.2 µs" in text
    assert "Met by 0/1" in text


@pytest.mark.slow
def test_html_charts_of_two_bundles_do_not_share_ids(tmp_path: Path) -> None:
    page = Page(full_page(tmp_path))
    assert len(page.all("svg")) == 2
    assert all(attributes["aria-hidden"] == "true" for attributes in page.all("svg"))


def luminance(color: str) -> float:
    """Relative luminance after WCAG 2.2."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_follows_the_published_extremes() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # known to fail AA


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_html_text_has_a_contrast_of_at_least_4_5(scheme: int) -> None:
    css = (files("sampler_parity.reports") / "templates" / "page.css").read_text()
    block = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[scheme]
    color: dict[str, str] = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    pairs = [("ink", "page"), ("ink", "panel"), ("quiet", "page"), ("quiet", "panel")]
    pairs += [("link", "page"), ("link", "panel")]
    pairs += [(name, f"{name}-back") for name in ("good", "fair", "bad")]
    low = {pair: contrast(color[pair[0]], color[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.slow
class TestInChromium:
    def test_html_does_not_overflow_and_its_console_is_silent(
        self, see: See, tmp_path: Path
    ) -> None:
        widths = (390, 1280)
        seen = see(full_page(tmp_path), *widths)
        assert seen == [Seen(width, "Parity report: FAILED", []) for width in widths]

    def test_a_table_that_goes_on_at_its_right_fades_there(self, see: See, tmp_path: Path) -> None:
        narrow, wide = see(full_page(tmp_path), 390, 1280, act=FADES)
        assert {*narrow.answer.split()} == {"goes-on:fades", "fits:none"}
        assert {*wide.answer.split()} == {"fits:none"}

    def test_html_of_hostile_texts_does_not_overflow_and_runs_nothing(
        self,
        see: See,
        tmp_path: Path,
    ) -> None:
        bundle = write_bundle(
            tmp_path / "long",
            run_info("x" * 300),
            [case(LONG, {"x" * 300: diverged(detail="y" * 3000, values={"got": "z" * 500})})],
        )
        read = [read_finished(p) for p in (bundle, hostile_bundle(tmp_path / "hostile"))]
        assert see(html(document(report_of(read))), 390) == [Seen(390, "Parity report: FAILED", [])]

    def test_overflow_and_script_errors_are_seen_where_they_are(self, see: See) -> None:
        page = "<title>x</title><div style='width:600px'>wide</div><script>nothing.here</script>"
        right, seen = see(["<title>y</title>narrow", page], 390)
        assert (right.scroll_width, right.title) == (390, "y")
        assert seen.scroll_width > 600
        assert "nothing is not defined" in seen.console[0]

    def test_policy_of_the_report_stops_a_script_that_got_in(
        self, see: See, tmp_path: Path
    ) -> None:
        page = full_page(tmp_path).replace(
            "</main>", "<script>document.title='ran'</script></main>"
        )
        (seen,) = see(page, 1280)
        assert seen.title == "Parity report: FAILED"
        assert "Content Security Policy" in seen.console[0]


def test_a_suite_that_was_measured_is_no_row_and_one_without_a_case_is_not_red(
    tmp_path: Path,
) -> None:
    suites = {"parity/top_p": "1", "parity/none": "2", "timing/x": "3"}
    timed = [t.model_copy(update={"suite": "timing/x"}) for t in timings()]
    info = run_info("llama.cpp", suites=suites)
    bundle = bundle_of(tmp_path / "x", info, [case("a", {"llama.cpp": got()})], timed)
    text = html(document(report_of([bundle])))
    assert "ok: 1/1 cases" in text
    assert "timing/x" not in text
    rows = text[text.index("parity/none") :].partition("</tr>")[0]
    assert 'class="quiet"' in rows
    assert "no case" in rows
    assert "0/0" not in text
    assert 'class="bad"' not in text
