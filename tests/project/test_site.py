"""docs/ as a site: `make docs`."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import See

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
WIDTHS = [390, 1024, 1250, 1280]
# A browser fetches the address of such an element, except a <link> that only names another page.
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)\b(?![^>]*rel=\"(?:next|prev)\")[^>]*")
ADDRESS = re.compile(r"\b(?:src|href)=[\"']?([^\"'\s>]+)")
OF_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?([^)\"'\s]+)")


def conf() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "conf.py"))


def of_other_hosts(text: str) -> list[str]:
    """Return the addresses on other hosts that a browser fetches for a page or a stylesheet."""
    named = [name for element in FETCHED.findall(text) for name in ADDRESS.findall(element)]
    return [name for name in named + OF_STYLES.findall(text) if re.match(r"(?:https?:)?//", name)]


def test_every_page_stands_in_the_menu_once() -> None:
    menus = [*conf()["NAVIGATION"].values(), *conf()["BELOW"].values()]
    pages = sorted(page for pages in menus for page in pages)
    at_top = ["../CHANGELOG", "../CONTRIBUTING", "../SECURITY"]
    ours = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("**/*.md")]
    engines = [f"../engines/{path.parent.name}/README" for path in ROOT.glob("engines/*/README.md")]
    assert pages == sorted([*at_top, *ours, *engines])


def test_the_guide_has_fourteen_pages_and_docs_has_no_others() -> None:
    """A page answers one question: the fourteenth is about another version of an engine."""
    guide = conf()["NAVIGATION"]["Guide"]
    assert len(guide) == 14
    assert {path.stem for path in DOCS.glob("*.md")} == {*guide, "README"} - {"../CONTRIBUTING"}


def test_a_link_to_a_folder_is_its_text_and_a_link_to_a_file_stays() -> None:
    text = "[samplers](../reference/samplers), [one](../reference/samplers/top_p.py), [x](#a)"
    assert conf()["without_folders"](text, DOCS) == text.replace(
        "[samplers](../reference/samplers)", "samplers"
    )


def test_what_is_loaded_from_another_host_is_noticed() -> None:
    page = (
        '<link rel="stylesheet" href="//fonts.example/a.css"><link rel="next" href="https://b/">'
        '<a href="https://c/">c</a><script async src=https://d/e.js></script><img src="f.png">'
    )
    assert of_other_hosts(page) == ["//fonts.example/a.css", "https://d/e.js"]
    assert of_other_hosts("@import 'https://x.example/y'; a { b: url(z.png) }") == [
        "https://x.example/y"
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        ["make", "docs", f"SITE={folder / 'site'}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.nightly
def test_the_site_has_every_page_and_begins_at_its_index(site: Path) -> None:
    names = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert {"index.html", "CONTRIBUTING.html", "docs/write-an-adapter.html"} <= names
    assert {f"docs/{path.stem}.html" for path in DOCS.glob("*.md")} <= names
    text = (site / "index.html").read_text(encoding="utf-8")
    assert all(f'<span class="caption-text">{part}' in text for part in conf()["NAVIGATION"])


@pytest.mark.nightly
def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(files) > 40
    asked = {path.name: of_other_hosts(path.read_text(encoding="utf-8")) for path in files}
    assert {name: hosts for name, hosts in asked.items() if hosts} == {}


@pytest.mark.nightly
def test_no_page_is_wider_than_a_phone_or_a_screen(site: Path, see: See) -> None:
    pages = sorted({*site.glob("**/*.html")} - {*site.glob("_downloads/**/*.html")})
    for path in pages:
        base = f'<head><base href="{path.as_uri()}">'
        page = path.read_text(encoding="utf-8").replace("<head>", base, 1)
        seen = see(page, *WIDTHS)
        assert [one.scroll_width for one in seen] == WIDTHS, path.name
        assert [line for line in seen[0].console if "searchindex" not in line] == [], path.name


@pytest.mark.nightly
def test_links_that_lead_nowhere_end_the_build(site: Path, tmp_path: Path) -> None:
    for path in ROOT.glob("*.md"):
        shutil.copy(path, tmp_path)
    with_pages = ("docs", "engines")  # a link would lead out of the copy
    for name in with_pages:
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_dir() and path.name[0] != "." and path.name not in (*with_pages, "out"):
            (tmp_path / path.name).symlink_to(path)
    with (tmp_path / "docs" / "quick-start.md").open("a") as page:
        page.write("\n[a page](nowhere.md), [a place](../CONTRIBUTING.md#nowhere)\n")
    program = str(ROOT / ".venv-docs/bin/sphinx-build")
    folders = [str(tmp_path / name) for name in ("docs", "", "out")]
    command = [program, "-q", "-W", "--keep-going", "-c", *folders]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    lost = [line for line in done.stderr.splitlines() if "quick-start.md" in line]
    assert len(lost) == len(done.stderr.strip().splitlines()) == 2, done.stderr
