"""The pages as a site, by Sphinx: `make docs`.

Its sources are the pages as GitHub shows them, from the root of the repository, so that a link is
the same there and on the site. NAVIGATION is the menu: each page of docs/ stands in it once.
"""

import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

NAVIGATION = {
    "Tutorial": ["docs/first-sampler", "docs/tour"],
    "How to": [
        "docs/running",
        "docs/ci",
        "docs/gate",
        "docs/pytest",
        "docs/suites",
        "docs/builds",
        "docs/devices",
        "docs/drift",
        "docs/generate",
        "docs/sequences",
        "docs/fuzz",
        "docs/compare",
        "docs/cluster",
        "docs/golden",
        "docs/releasing",
    ],
    "Reference": [
        "docs/README",
        "docs/adapter-protocol",
        "docs/verdicts",
        "docs/reports",
        "docs/bundles",
        "docs/limits",
        "docs/statistics",
        "docs/timing",
        "docs/self-test",
        "docs/native",
        "docs/graph",
        "docs/common-sampler",
        "docs/grammar",
        "docs/grammar-engines",
        "docs/token-trie",
        "docs/tsampler",
        "docs/akunu",
        "docs/power-law",
        "docs/transformers",
        "SECURITY",
    ],
    "Findings": [
        "docs/findings",
        "docs/findings-tsampler",
        "docs/findings-akunu",
        "docs/findings-power-law",
        "docs/findings-token-trie",
    ],
    "Architecture": ["docs/architecture", "CONTRIBUTING", "CHANGELOG"],
}

project = "sampler-parity"
author = "sampler-parity maintainers"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", *(f"{page}.md" for pages in NAVIGATION.values() for page in pages)]
exclude_patterns = [".*", "**/node_modules", "bundles", "build", "dist", "report", "site", "tests"]
myst_heading_anchors = 4  # as GitHub makes them
highlight_language = "none"
nitpicky = True

html_theme = "furo"
html_title = "sampler-parity"
html_copy_source = False
html_show_sphinx = False

LINK = re.compile(r"\[([^]]+)\]\(([^)#\s]+)\)")


def without_folders(text: str, folder: Path) -> str:
    """A link to a folder of the repository, which a site does not have, becomes its text."""
    return LINK.sub(lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def on_read(app: Any, page: str, source: list[str]) -> None:
    source[0] = without_folders(source[0], (ROOT / page).parent)
    if page == root_doc:
        source[0] += "\n" + "\n".join(menu(name, pages) for name, pages in NAVIGATION.items())


def menu(name: str, pages: list[str]) -> str:
    """A part of the menu, each page under what its heading says before a colon."""
    lines = [f"{short_title(page)} <{page}>" for page in pages]
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {name}", "", *lines, "```", ""])


def short_title(page: str) -> str:
    heading = (ROOT / f"{page}.md").read_text(encoding="utf-8").split("\n", 1)[0]
    return heading.removeprefix("# ").partition(":")[0]


def on_end(app: Any, error: Exception | None) -> None:
    """A host shows index.html."""
    if error is None:
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Any) -> None:
    app.connect("source-read", on_read)
    app.connect("build-finished", on_end)
