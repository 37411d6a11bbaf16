"""docs/ as a site: `make docs`."""

import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.site.links import problems
from tests.support.chromium import See

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
WIDTHS = [390, 1024, 1250, 1280]


def conf() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "conf.py"))


def test_every_page_stands_in_the_menu_once() -> None:
    menus = [*conf()["NAVIGATION"].values(), *conf()["BELOW"].values()]
    pages = sorted(page for pages in menus for page in pages)
    at_top = ["../CHANGELOG", "../CONTRIBUTING", "../SECURITY"]
    ours = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("**/*.md")]
    engines = [f"../engines/{path.parent.name}/README" for path in ROOT.glob("engines/*/README.md")]
    assert pages == sorted([*at_top, *ours, *engines])


def test_a_link_to_a_folder_is_its_text_and_a_link_to_a_file_stays() -> None:
    text = "[samplers](../reference/samplers), [one](../reference/samplers/top_p.py), [x](#a)"
    assert conf()["without_folders"](text, DOCS) == text.replace(
        "[samplers](../reference/samplers)", "samplers"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        ["make", "docs", f"SITE={folder / 'site'}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.nightly
def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    assert len([*site.rglob("*.html")]) > 40
    assert [line for line in problems(site) if "fetches" in line] == []


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
