"""Files for maintainers: hooks download nothing, the index is complete, links resolve."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("engines/*/README.md")),
]


FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def targets(page: Path) -> list[tuple[str, str]]:
    """Return the local links of a page as (file, anchor); the file "" is the page itself."""
    named = re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text(encoding="utf-8")))
    split = [target.partition("#") for target in named if not target.startswith("http")]
    return [(file, place) for file, _, place in split]


def links(page: Path) -> list[str]:
    return [file for file, _ in targets(page) if file]


def places(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def large(folder: Path, most: int = 300_000) -> list[str]:
    """Return the files of a folder in git that are larger than `most` bytes."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, check=True)
    files = names.stdout.decode().split("\0")[:-1]
    return sorted(name for name in files if (folder / name).stat().st_size > most)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_no_large_file_is_committed_but_the_golden_ones() -> None:
    assert [name for name in large(ROOT) if not name.startswith("golden/")] == []


def test_a_large_file_that_was_added_is_named(tmp_path: Path) -> None:
    (tmp_path / "of-others.whl").write_bytes(bytes(1001))
    (tmp_path / "small").write_bytes(bytes(1000))
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert large(tmp_path, 1000) == ["of-others.whl"]


def test_every_hook_is_a_program_that_setup_installed() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    assert {hook["language"] for hook in repo["hooks"]} == {"system"}
    programs = {hook["entry"].split()[0] for hook in repo["hooks"]}
    installed = ("ruff", "mypy", "sampler-parity", "python")
    assert programs == {f".venv/bin/{name}" for name in installed}


@pytest.mark.parametrize("folder", ["", "reference", "background", "results"])
def test_every_page_is_in_the_index_of_its_folder(folder: str) -> None:
    listed = set(links(DOCS / folder / "README.md"))
    assert {path.name for path in (DOCS / folder).glob("*.md")} - {"README.md"} - listed == set()


def test_findings_link_to_every_page_of_their_folder() -> None:
    listed = set(links(DOCS / "findings.md"))
    assert {f"findings/{path.name}" for path in (DOCS / "findings").glob("*.md")} - listed == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_place_on_a_page_leads_there(page: Path) -> None:
    lost = [
        f"{file}#{place}"
        for file, place in targets(page)
        if place and place not in places((page.parent / file if file else page).read_text())
    ]
    assert lost == []


def test_a_heading_has_the_place_that_github_gives_it() -> None:
    assert places("# 20. `[^...]` isn't Top-P\n```\n# a comment\n```\n") == {"20--isnt-top-p"}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_power_is_code_and_not_bold_text(page: Path) -> None:
    prose = re.sub(r"`[^`]*`|^    .*$", "", FENCED.sub("", page.read_text()), flags=re.MULTILINE)
    assert re.findall(r".*\d\*\*-?\d.*", prose) == []


def test_every_file_that_the_architecture_names_is_there() -> None:
    page = (DOCS / "background" / "architecture.md").read_text()
    named = set(re.findall(r"(?<![\w/])([a-z_]+(?:/[a-z_]+)*\.py)\b", page))
    assert len(named) > 10
    places = (ROOT, ROOT / "harness")
    assert [name for name in named if not any((place / name).is_file() for place in places)] == []
