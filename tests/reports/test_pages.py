"""Every page of the reports: links, accessibility, and rendering in headless Chromium."""

from html import unescape
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import digest
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.reports.pages.index.index_model import Index
from sampler_parity.reports.pages.index.index_page import heat_text, heat_tone
from sampler_parity.reports.write import write_report
from sampler_parity.reports.writers.ci import MOST_CHARACTERS
from sampler_parity.reports.writers.html import MARK
from tests.support.chromium import See, Seen
from tests.support.every_page import PAGES, history_page, report_pages
from tests.support.html_page import Page, lost_links, problems
from tests.support.report_bundles import (
    HOSTILE,
    case,
    diverged,
    got,
    hostile_bundle,
    run_info,
    write_bundle,
)

TITLES = {
    "matrix": "Engines: FAILED",
    "parity": "Parity report: FAILED",
    "invariance": "Invariance of decoding",
    "distribution": "Distribution report: FAILED",
    "calibration": "Calibration: ok",
    "throughput": "Throughput",
    "skip-ratio": "Skip-ratio report: ok",
    "platforms": "Platforms: ok",
    "servers": "Servers: FAILED",
    "accuracy": "Accuracy of probabilities",
    "compare": "Comparison: DIFFERENT",
    "index": "sampler-parity: FAILED",
    "history": "History: 2 runs",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return report_pages(tmp_path_factory.mktemp("pages"))


def overview(folder: Path, *bundles: Path) -> Index:
    out = folder / "overview"
    write_report(list(bundles), out, ["json", "html", "md"])
    return Index.model_validate_json((out / "index.json").read_text())


@pytest.mark.slow
def test_pages_have_no_problem_and_link_to_each_other(pages: dict[str, str]) -> None:
    assert set(pages) == {f"{name}.html" for name in PAGES}
    for name, text in pages.items():
        assert (name, problems(text, tuple(pages))) == (name, [])
        assert {a["href"] for a in Page(text).all("a")} >= set(pages)
        assert MARK not in text
    assert 'href="parity.html#' in pages["index.html"]
    assert 'href="distribution.html#' in pages["index.html"]
    assert lost_links(pages) == []


@pytest.mark.slow
def test_a_link_to_a_place_that_is_not_there_is_found(pages: dict[str, str]) -> None:
    index = pages["index.html"].replace("parity.html#b2-", "parity.html#b3-", 1)
    assert len(lost_links(pages | {"index.html": index})) == 1


@pytest.mark.slow
def test_links_are_the_same_when_a_part_of_the_cases_runs_again(tmp_path: Path) -> None:
    cases = [
        case("a", {"llama.cpp": diverged()}),
        case("b", {"llama.cpp": got("crashed", detail="SIGSEGV")}),
    ]

    def links(started: str, *cases: CaseResult) -> set[str]:
        info = run_info("llama.cpp", seed=len(cases)).model_copy(update={"started": started})
        index = overview(tmp_path / started, write_bundle(tmp_path / f"b{started}", info, [*cases]))
        return {f"{finding.stem}#{finding.anchor}" for finding in index.findings}

    assert len(links("2025", *cases)) == 2
    assert links("2026", *cases) > links("2027", cases[1]) != set()


def test_the_map_counts_a_case_for_the_sampler_at_which_it_first_differs(tmp_path: Path) -> None:
    both = ["top_k", "top_p"]
    cases = [
        case("a", {"x": diverged(stage="top_p", stage_index=1), "y": got()}, samplers=both),
        case("b", {"x": got(), "y": got("skipped", detail="no top_k")}, samplers=["top_k"]),
        case("c", {"x": got("crashed"), "y": got("close")}, samplers=["temp"]),
    ]
    allowed = {"x": ["identical"], "y": ["identical", "close"]}
    cases[2] = cases[2].model_copy(update={"required": allowed})
    bundle = write_bundle(tmp_path / "b", run_info("x", "y"), cases)
    drawn = overview(tmp_path, bundle).heat_map
    assert drawn is not None
    assert drawn.backends == ["x", "y"]
    shown = {
        row.sampler: [(heat_text(c), heat_tone(c), c.worst) for c in row.cells]
        for row in drawn.rows
    }
    assert shown == {
        "temp": [("1/1", "hot3", "crashed"), ("1, 1 differ", "fair", None)],
        "top_p": [("1/1", "hot3", "diverged"), ("1", "good", None)],
        "top_k": [("1", "good", None), ("1", "good", None)],
    }
    for row in drawn.rows:
        for cell in row.cells:
            assert bool(cell.anchor) == bool(cell.failing)


def test_the_worst_of_all_bundles_is_the_first_finding(tmp_path: Path) -> None:
    cases = [case("a", {"x": got("close")}), case("b", {"x": got("unsupported")})]
    mild = write_bundle(tmp_path / "mild", run_info("x"), cases)
    bad = write_bundle(tmp_path / "bad", run_info("x"), [case("a", {"x": diverged()})])
    index = overview(tmp_path, mild, bad)
    states = [finding.text.partition(":")[0] for finding in index.findings]
    assert states == ["bad", "mild", "mild"]
    assert index.heat_map is not None
    cells = index.heat_map.rows[0].cells
    assert [(cell.failing, cell.worst) for cell in cells] == [(2, "close"), (1, "diverged")]


def test_the_index_begins_with_the_verdict_the_findings_and_the_map(tmp_path: Path) -> None:
    cases = [case(f"c{i}", {"x": diverged(stage=f"s{i}")}, samplers=[f"s{i}"]) for i in range(15)]
    overview(tmp_path, write_bundle(tmp_path / "b", run_info("x"), cases))
    text = (tmp_path / "overview" / "index.html").read_text()
    places = [
        text.index(part) for part in ('class="state', 'id="findings"', 'id="map"', 'id="results"')
    ]
    assert places == sorted(places)
    assert "<summary>3 more</summary>" in text


def test_page_of_the_history_has_no_problem(tmp_path: Path) -> None:
    assert problems(history_page(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<main", "<script>1</script><main", "runs or embeds"),
        ('lang="en"', "", "no language"),
        ('href="#content"', 'href="https://example.org"', "links out"),
        ('scope="col"', "", "heads without a scope"),
        ("<caption", "<p></p><captio", "tables without a caption"),
        ('tabindex="0"', "", "scrolls without focus"),
        ("<h1", "<h3", "headings skip"),
        ('id="checked"', 'id="bundles"', "ids twice"),
        ("default-src 'none'", "default-src *", "no policy"),
    ],
)
def test_problems_of_a_page_are_found(
    pages: dict[str, str], old: str, new: str, problem: str
) -> None:
    text = pages["index.html"].replace(old, new, 1)
    if old == "<caption":
        text = text.replace("</caption>", "</captio>", 1)
    if old == "<h1":
        text = text.replace("</h1>", "</h3>", 1)
    assert any(named.startswith(problem) for named in problems(text, tuple(pages)))


def test_index_says_what_was_checked_and_what_came_of_it(tmp_path: Path) -> None:
    bad = write_bundle(
        tmp_path / "bad",
        run_info("llama.cpp", "mine", suites={"parity/top_p": "5a1e"}),
        [
            case("a", {"llama.cpp": got(), "mine": got("diverged")}),
            case("b", {"llama.cpp": got(), "mine": got()}, samplers=["top_k"]),
        ],
    )
    index = overview(tmp_path, bad)
    assert not index.ok
    assert [(p.stem, p.ok) for p in index.pages] == [("parity", False)]
    assert index.missing == ["Distribution", "Throughput", "Skip ratio"]
    assert [(b.name, b.met, b.cases) for b in index.backends] == [
        ("llama.cpp", 2, 2),
        ("mine", 1, 2),
    ]
    assert index.samplers == ["top_k", "top_p"]
    assert index.bundles[0].sha256 == digest(bad)
    text = Page((tmp_path / "overview" / "index.html").read_text()).text
    for words in (
        "FAILED: 2 cases, 2 steps, 2 samplers, 2 backends.",
        "Parity : FAILED 1/2 cases as required on every backend",
        "Throughput: not measured in these bundles",
        "1/2 identical, 1 diverged",
        "sampler-parity run parity",
        digest(bad),
        "Test CPU, 2 logical cores, 8.0 GiB",
    ):
        assert words in text


@pytest.mark.slow
def test_commands_are_shown_as_a_shell_takes_them(tmp_path: Path) -> None:
    words = ["sampler-parity", "run", "--case", "top_p/*", "-b", "mine=my program"]
    shown = "--case 'top_p/*' -b 'mine=my program'"
    info = run_info("mine").model_copy(update={"command": words})
    own = info.backends["mine"].model_copy(update={"command": ["my program", "$HOME"]})
    info = info.model_copy(update={"backends": {"mine": own}})
    bundle = write_bundle(tmp_path / "b", info, [case("a", {"mine": got()})])
    write_report([bundle], tmp_path / "r", ["html", "md"])
    for name in ("index.html", "parity.html", "index.md"):
        text = unescape((tmp_path / "r" / name).read_text())
        assert shown in text
    assert "'my program' '$HOME'" in unescape((tmp_path / "r" / "parity.html").read_text())


@pytest.mark.slow
def test_index_is_ok_where_every_page_is(tmp_path: Path) -> None:
    good = write_bundle(tmp_path / "a", run_info("llama.cpp"), [case("a", {"llama.cpp": got()})])
    assert overview(tmp_path, good).ok
    assert (tmp_path / "overview" / "index.md").read_text().startswith("# sampler-parity: ok\n")


def test_index_names_the_bundle_of_each_backend_in_markdown(tmp_path: Path) -> None:
    named = [
        write_bundle(tmp_path / name, run_info("mine"), [case("a", {"mine": got()})])
        for name in ("before", "after")
    ]
    overview(tmp_path, *named)
    text = (tmp_path / "overview" / "index.md").read_text()
    for name in ("before", "after"):
        assert f"| <code>mine</code> | <code>{name}</code> |" in text


@pytest.mark.slow
def test_index_of_many_bundles_fits_a_comment(tmp_path: Path) -> None:
    name = HOSTILE.replace("\x00", "") * 3
    info = run_info(*(f"{name}{i}" for i in range(300)))
    bundle = write_bundle(tmp_path / "x", info, [])
    overview(tmp_path, bundle)
    assert len((tmp_path / "overview" / "index.md").read_text()) <= MOST_CHARACTERS


@pytest.mark.slow
def test_every_page_fits_the_screen_and_its_console_is_silent(
    see: See, pages: dict[str, str], tmp_path: Path
) -> None:
    texts = {name: pages[f"{name}.html"] for name in PAGES} | {"history": history_page(tmp_path)}
    widths = (360, 1280)
    fit = [Seen(width, TITLES[name], []) for name in texts for width in widths]
    assert see(list(texts.values()), *widths) == fit


@pytest.mark.slow
def test_hostile_texts_do_not_widen_the_index(see: See, tmp_path: Path) -> None:
    crashed = [case("y" * 300, {"x" * 300: got("crashed")})]
    long = write_bundle(tmp_path / "long", run_info("x" * 300), crashed)
    overview(tmp_path, long, hostile_bundle(tmp_path / "hostile"))
    text = (tmp_path / "overview" / "index.html").read_text()
    assert see(text, 360) == [Seen(360, "sampler-parity: FAILED", [])]
