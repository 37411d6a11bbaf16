"""Files for whoever carries on: hooks fetch nothing, the index is complete, links lead on."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", DOCS / "README.md", DOCS / "architecture.md"]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="not in a checkout")


def links(page: Path) -> list[str]:
    """What a page links to on this disk, without the place on the page."""
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    return [t.partition("#")[0] for t in targets if not t.startswith(("http", "#"))]


def test_every_hook_is_a_program_that_setup_installed() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    assert {hook["language"] for hook in repo["hooks"]} == {"system"}
    programs = {hook["entry"].split()[0] for hook in repo["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/sampler-parity"}


def test_every_page_is_in_the_index() -> None:
    listed = set(links(DOCS / "README.md"))
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} - listed == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


def test_every_room_is_in_the_picture() -> None:
    picture = (DOCS / "architecture.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert {room for room in rooms if f"{room}/" not in picture} == set()
