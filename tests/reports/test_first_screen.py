"""The first screen of index.html and parity.html, for a run that passed and one that failed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import (
    BackendResult,
    CaseResult,
    CounterexampleResult,
    Known,
)
from sampler_parity.reports.pages.index.index_model import Index
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_findings import agreements, merged, named
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.pages.parity.parity_summary import heat_map, terminal_lines
from sampler_parity.reports.parts import times
from sampler_parity.reports.write import write_report
from sampler_parity.reports.writers.ci import markdown
from tests.support.chromium import See
from tests.support.html_page import Page, lost_links
from tests.support.report_bundles import (
    bundle_of,
    case,
    diverged,
    got,
    read_back,
    run_info,
    write_bundle,
)

ENGINES = tuple("abcdef")
MOST_BYTES = 1_000_000
SMALL: dict[str, Any] = {
    "id": "x/a",
    "description": "a fact",
    "why": "a defect",
    "chain": [{"top_k": {"k": 3}}],
    "logits": {"rows": [[2.0, 1.0, 0.5, 0.25]]},
}


def shown(text: str) -> str:
    """Return the text of a page outside of closed folds."""
    closed = re.compile(
        r"<details(?: id=\"[^\"]*\")?>(?:(?!<details|</details>).)*</details>", re.DOTALL
    )
    opened = re.compile(r"<details[^>]* open>((?:(?!<details|</details>).)*)</details>", re.DOTALL)
    while (less := opened.sub(r"\1", closed.sub("", text))) != text:
        text = less
    return Page(text).text


def timed(name: str, sampler: str, ns: int, reference_s: float, **fields: Any) -> CaseResult:
    return case(name, {"x": got(ns=ns)}, samplers=[sampler], reference_s=reference_s, **fields)


def passing(folder: Path) -> Path:
    cases = [
        timed("a", "top_k", 3_000, 9e-6, steps=3),
        timed("b", "top_p", 1_000, 4e-6, suite="parity/chains"),
        case("c", {"x": got("skipped", detail="no dry")}, samplers=["dry"]),
    ]
    info = run_info("x", suites={"parity/top_p": "1", "parity/chains": "2"})
    return write_bundle(folder / "passing", info, cases)


def failing(folder: Path, *names: str, **fields: Any) -> Bundle:
    """Each backend diverges in the same way, and each has a minimized input."""
    cases = [case("a", {name: diverged(**fields) for name in names})]
    return read_back(folder / "failing", run_info(*names), cases, [*map(minimized, names)])


def minimized(name: str, fault: str = "top_k/off-by-one") -> CounterexampleResult:
    known = Known(name=fault, fault="one is missing", explains=1, tried=1)
    return CounterexampleResult(
        id=f"a on {name}", case="a", backend=name, smaller=SMALL, got=[0, 1],
        result=diverged(stage="top_k", stage_index=0), expected=[0, 1, 2], known=[known],
    )  # fmt: skip


def pages(folder: Path, bundle: Path) -> dict[str, str]:
    files = write_report([bundle], folder, ["html", "json"])
    return {path.name: path.read_text() for path in files}


def test_bundles_of_one_backend_and_suite_have_a_column_each(tmp_path: Path) -> None:
    def of(folder: str, suite: str, **result: Any) -> Bundle:
        info = run_info("mine", suites={suite: "1"})
        cases = [case(name, result, suite=suite) for name in ("a", "b")]
        return read_back(tmp_path / folder, info, cases, [])

    before, after = of("before", "s/x", mine=diverged()), of("after", "s/x", mine=got())
    for bundles, names, counts in (
        ([before, after], ["mine (before)", "mine (after)"], [(2, 2), (0, 2)]),
        ([before, of("other", "s/y", mine=got())], ["mine"], [(2, 4)]),
        ([before, of("x/before", "s/x", mine=got())], ["mine (before 1)", "mine (before 2)"],
         [(2, 2), (0, 2)]),
    ):  # fmt: skip
        drawn = heat_map(report_of(bundles))
        assert drawn is not None
        assert drawn.backends == names
        assert [(cell.failing, cell.cases) for cell in drawn.rows[0].cells] == counts


@pytest.mark.slow
def test_index_of_a_passing_run_shows_its_content_without_unfolding(tmp_path: Path) -> None:
    text = pages(tmp_path / "r", passing(tmp_path))["index.html"]
    seen = shown(text)
    for words in (
        "sampler-parity 0.1.0, 2026-01-01 00:00 UTC. 3 cases, 5 steps, on x 1.0.",
        "top_p 2 4 top_k 1, dry 1",
        "chains 1 1 top_p 1",
        "top_k 1 3 1 µs 3 µs 3 ×",
        "top_p 1 1 1 µs 4 µs 4 ×",
        "not a benchmark",
        "The reference takes a row of ten logits through top_k (7), top_p (0.9) and temp (0.6)",
        "x of passing: 1 case skipped: the backend does not claim what they need",
        "No case: greedy, dist, min_p",
        "Distribution: not measured in these bundles",
    ):
        assert words in seen
    assert len(Page(text).all("svg")) == 1
    assert text == pages(tmp_path / "again", passing(tmp_path / "2"))["index.html"]


def test_times_are_those_of_cases_with_one_sampler_that_were_answered() -> None:
    cases = [
        timed("a", "top_k", 300, 1e-6, steps=3),
        timed("b", "top_k", 100, 3e-6),
        timed("draws", "top_k", 9999, 1.0, draws=100),
        case("chain", {"x": got(ns=9999)}, samplers=["top_k", "top_p"], reference_s=1.0),
        case("skipped", {"x": got("skipped", ns=9999)}, samplers=["top_k"], reference_s=1.0),
        case("crash", {"x": got("crashed", ns=9999)}, samplers=["top_k"], reference_s=1.0),
    ]
    (row,) = times(cases)
    assert (row.sampler, row.backend, row.cases, row.steps) == ("top_k", "x", 2, 4)
    assert (row.backend_ns, row.reference_ns) == (400, 4000)


@pytest.mark.slow
def test_a_passing_parity_page_is_open_up_to_forty_rows(tmp_path: Path) -> None:
    text = pages(tmp_path / "r", passing(tmp_path))["parity.html"]
    seen = shown(text)
    assert "None." not in seen
    assert "Failures" not in seen
    for words in (
        "top_k 1 1/1 identical",
        "parity/chains 2 1 1/1 identical",
        "top_k 1 3 1 µs 3 µs 3 ×",
        "Test CPU, 2 logical cores, 8.0 GiB, Linux 6.1, x86_64, glibc 2.36, Python 3.11.2",
    ):
        assert words in seen
    cases = [case(f"c{i}", {"x": got()}, suite=f"parity/s{i}") for i in range(41)]
    many = pages(tmp_path / "m", write_bundle(tmp_path / "many", run_info("x"), cases))
    assert "parity/s0" not in shown(many["parity.html"])
    assert "41 suites" in many["parity.html"]


@pytest.mark.slow
def test_one_cause_on_several_backends_is_one_finding(tmp_path: Path) -> None:
    bundle = failing(tmp_path, "a", "b", "c")
    text = pages(tmp_path / "r", bundle.folder)
    sentence = "1 case diverges at top_p: keeps 63 fewer than p allows, on a, b and c"
    for name in ("index.html", "parity.html"):
        seen = shown(text[name])
        assert seen.count("as if: one is missing") == 1
        assert f"{sentence}; as if: one is missing" in seen
        assert "sampler-parity run parity/top_p --case a -b a" in seen
        places = [seen.index(part) for part in (sentence, "Smallest input: top_k", "kept by the")]
        assert places == sorted(places)
        assert len(Page(text[name]).all("svg")) == 1
    assert lost_links({name: t for name, t in text.items() if name.endswith("html")}) == []
    report = report_of([bundle])
    assert markdown(document(report)).count("one is missing") == 1
    assert sum("as if: one is missing" in line for line in terminal_lines(report)) == 1
    assert len(Index.model_validate_json(text["index.json"]).findings) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "fault", "findings"),
    [
        ({}, "top_k/off-by-one", 1),
        ({"stage": "top_k"}, "top_k/off-by-one", 2),
        ({"values": {"survivors": {"got": 9, "expected": 8}}}, "top_k/off-by-one", 2),
        ({"verdict": "close"}, "top_k/off-by-one", 2),
        ({}, "top_k/another", 2),
    ],
)
def test_another_stage_difference_verdict_or_fault_is_another_finding(
    tmp_path: Path, fields: dict[str, Any], fault: str, findings: int
) -> None:
    other = diverged().model_copy(update=fields)
    cases = [case("a", {"a": diverged(), "b": other}, samplers=["top_k", "top_p"])]
    records = [minimized("a"), minimized("b", fault)]
    (section,) = report_of([read_back(tmp_path / "x", run_info("a", "b"), cases, records)]).sections
    assert len(merged(section.findings)) == findings


def test_a_finding_says_how_many_cases_where_backends_differ_in_it(tmp_path: Path) -> None:
    cases = [case(f"c{i}", {"a": diverged(), "b": diverged() if i else got()}) for i in range(3)]
    (section,) = report_of([bundle_of(tmp_path / "x", run_info("a", "b"), cases)]).sections
    (found,) = merged(section.findings)
    assert found.sentence == (
        "2 to 3 cases diverge at top_p: keeps 63 fewer than p allows, on a and b"
    )
    assert found.anchor == min(group.anchor for group in section.findings)
    known = Known(name="x", fault="one is missing", explains=1, tried=1)
    groups = [group.model_copy() for group in section.findings]
    text = f"{groups[1].text}; as if: one is missing"
    groups[1] = groups[1].model_copy(update={"known": [known], "text": text})
    (found,) = merged(groups)
    assert found.shown == groups[1]
    assert found.text.endswith(f"; as if (on {groups[1].backend}): one is missing")
    assert named(["a"]) == "a"
    assert named([*"abcdefgh"]) == "a, b, c, d, e, f and 2 more"


OTHER = diverged().values | {"got": 0.125}


@pytest.mark.parametrize(
    ("last", "agree"),
    [
        (diverged(), 6),
        (got("skipped"), 5),
        (got("unsupported"), 5),
        (got(), 0),
        (diverged(values=OTHER), 0),
        (diverged(step=1), 0),
        (diverged(stage="temp"), 0),
        (got("crashed"), 0),
    ],
)
def test_backends_agree_where_all_that_answered_give_the_same(
    last: BackendResult, agree: int
) -> None:
    results = dict.fromkeys(ENGINES[:5], diverged()) | {"f": last}
    found = agreements([case("a", results), case("b", dict.fromkeys(ENGINES, got()))])
    assert [len(same.backends) for same in found] == [agree] * bool(agree)


@pytest.mark.slow
def test_agreement_has_a_sentence_on_every_page(tmp_path: Path) -> None:
    bundle = failing(tmp_path, *ENGINES)
    words = (
        "6 backends agree with each other and not with the reference in 1 case: a, b, c, d, e and "
        "f. At the first difference they have the same values."
    )
    text = pages(tmp_path / "r", bundle.folder)
    assert words in shown(text["index.html"])
    assert words in shown(text["parity.html"])
    assert words in terminal_lines(report_of([bundle]))
    alone = pages(tmp_path / "one", failing(tmp_path / "1", "a").folder)
    assert "agree with" not in alone["index.html"]


@pytest.mark.slow
def test_parity_page_of_many_failures_is_at_most_a_megabyte(tmp_path: Path) -> None:
    long = {"got": "y" * 3000, "expected": "z" * 3000}
    cases = []
    for i in range(600):
        results = {n: diverged(stage=f"stage-{i % 300}-{n}", values=long) for n in ENGINES}
        cases.append(case(f"case-{i:04}", results))
    bundle = write_bundle(tmp_path / "x", run_info(*ENGINES), cases)
    text = pages(tmp_path / "r", bundle)
    assert len(text["parity.json"]) > 2 * MOST_BYTES
    assert len(text["parity.html"].encode()) <= MOST_BYTES
    assert re.search(r"[\d,]+ more findings are in the JSON", text["parity.html"])


BOXES = """(page) => {
  page.querySelectorAll('article').forEach(a => { a.style.contentVisibility = 'visible'; });
  const box = (css) => page.querySelector(css)?.getBoundingClientRect();
  return JSON.stringify({
    card: box('article'), picture: box('.chart svg'), replay: box('article pre'),
  });
}"""


@pytest.mark.slow
def test_the_first_screen_of_a_failure_is_the_finding(see: See, tmp_path: Path) -> None:
    text = pages(tmp_path / "r", failing(tmp_path, "a", "b", "c").folder)
    right = [text[name] for name in ("index.html", "parity.html")]
    pushed = [
        page.replace("<article", "<div style='height:40rem'></div><article") for page in right
    ]
    seen = see([*right, *pushed], 1280, act=BOXES)
    index, parity, *low = (json.loads(one.answer) for one in seen)
    for boxes in (index, parity):
        assert boxes["card"]["top"] < boxes["replay"]["top"] < boxes["picture"]["top"]
        assert boxes["picture"]["bottom"] < 900
    assert [boxes["picture"]["bottom"] > 900 for boxes in low] == [True, True]
