"""Findings of axe-core on the pages, light and dark, with folded parts too, and the lengths of
pages.
"""

from pathlib import Path

import pytest

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.reports.write import write_report
from tests.support.axe import fetch, violations
from tests.support.chromium import See, chromium
from tests.support.every_page import PAGES, history_page, report_pages
from tests.support.report_bundles import case, diverged, got, read_back, run_info
from tests.support.served import asked
from tests.support.several_bundles import cell_on

pytestmark = pytest.mark.nightly

SCREENS = 10
HEIGHT = {1280: 800, 390: 844}  # of a screen of this width, in CSS pixels


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    return report_pages(folder) | {"history.html": history_page(folder / "history")}


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    source = fetch(tmp_path_factory.mktemp("axe"))
    if not source:
        pytest.skip("unavailable: npm does not get axe-core")
    return source


@pytest.fixture
def program() -> str:
    browser = chromium()
    if browser is None:
        pytest.skip("unavailable: chromium is not installed")
    return browser


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "history"])
def test_axe_finds_nothing(
    pages: dict[str, str], axe: str, program: str, name: str, theme: str, tmp_path: Path
) -> None:
    assert violations(program, axe, pages[f"{name}.html"], theme, tmp_path / "x") == []


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('lang="en"', "", "html-has-lang"),
        ("--quiet: #57606a", "--quiet: #c0c0c0", "color-contrast"),
        ("<h1", '<img src="data:,"><h1', "image-alt"),
    ],
)
def test_a_planted_fault_is_found_by_axe(
    pages: dict[str, str], axe: str, program: str, old: str, new: str, rule: str, tmp_path: Path
) -> None:
    page = pages["compare.html"]
    assert old in page
    broken = page.replace(old, new)
    assert rule in [r for r, _ in violations(program, axe, broken, "light", tmp_path / "x")]


def wrong_everywhere(folder: Path) -> list[Path]:
    """A report of two backends that fail in 40 ways at 40 samplers, 90 timings and 60 cells, and of
    a server that does so in 60."""
    names = ("llama.cpp", "mine", "theirs")
    stages = [f"sampler_{i}" for i in range(40)]
    cases = [
        case(
            f"s{i}/{n}",
            {name: got() if name == "llama.cpp" else diverged(stage=stage) for name in names},
            suite=f"parity/s{i}",
            samplers=[stage],
        )
        for i, stage in enumerate(stages)
        for n in range(5)
    ]
    base = [1000 + i % 7 for i in range(20)]
    timings = [
        TimingResult(
            id=f"timing/chain-{i}/V{i}",
            suite="timing/x",
            sampler="top_k",
            n_vocab=1000 + i,
            ns={"llama.cpp": base, "mine": [2 * x + i for x in base], "null": [9] * 20},
            baseline="llama.cpp",
            again=base,
        )
        for i in range(90)
    ]
    cells = [cell_on("mine", "different", 0.1, 0.2, f"dist/{i}") for i in range(60)]
    ignored = [asked(f"parameter {i}", verdict="ignored") for i in range(60)]
    bundle = read_back(folder / "wrong", run_info(*names), cases, [*timings, *cells, *ignored])
    return write_report([bundle.folder], folder / "report", ["html"])


def test_no_page_is_longer_than_ten_screens_however_much_is_wrong(see: See, tmp_path: Path) -> None:
    height = "(page) => page.documentElement.scrollHeight"
    long = {}
    for path in wrong_everywhere(tmp_path):
        for seen in see(path.read_text(), *HEIGHT, act=height):
            screens = int(seen.answer) / HEIGHT[seen.scroll_width]
            long[path.stem, seen.scroll_width] = round(screens, 1)
    assert len(long) == 10
    assert {page: n for page, n in long.items() if n > SCREENS} == {}
