"""The pages as a site, by Sphinx: `make docs`.

Its sources are the pages as GitHub shows them, from the root of the repository, so that a link is
the same there and on the site. NAVIGATION is the menu: each page of docs/ stands in it once.
"""

import re
import shutil
from os.path import normpath
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WHOLE = "tags" in globals() and globals()["tags"].has("whole")  # `make site`: scripts/site

GUIDE = [
    "quick-start",
    "check-a-function",
    "test-vectors",
    "write-an-adapter",
    "run-suites",
    "read-results",
    "random-numbers",
    "measure-speed",
    "ci-and-gate",
    "check-a-recording",
    "check-a-server",
    "before-you-upgrade",
    "check-llama-cpp",
    "check-an-engine",
    "findings",
    "../CONTRIBUTING",
]


def pages_in(*patterns: str) -> list[str]:
    """Return the pages that fit, as paths from docs/ without the suffix, in the order of names."""
    paths = [path for pattern in patterns for path in sorted((ROOT / "docs").glob(pattern))]
    return [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in paths]


ENGINES = [
    f"../engines/{path.parent.name}/README"
    for path in sorted((ROOT / "engines").glob("*/README.md"))
]
NAVIGATION = {
    "Guide": GUIDE,
    "More": ["reference/README", "background/README", "results/README", "README", "../CHANGELOG"],
}
# Pages that unfold in the menu below another page, which links to them.
BELOW = {
    "reference/README": [*pages_in("reference/*.md"), "../SECURITY"],
    "reference/samplers": pages_in("reference/samplers/*.md"),
    "background/README": pages_in("background/*.md"),
    "results/README": pages_in("results/*.md"),
    "findings": pages_in("findings/*.md"),
    "check-an-engine": ENGINES,
}
BELOW = {page: [one for one in pages if one != page] for page, pages in BELOW.items()}
if WHOLE:  # pages that are not in the repository
    NAVIGATION = {"Measured": ["../measured/index", "../findings/index"]} | NAVIGATION

project = "sampler-parity"
author = "sampler-parity maintainers"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md", "engines/*/README.md"]
if WHOLE:
    include_patterns += ["findings/*.md", "measured/*.md"]
    html_extra_path = [str(ROOT / "build" / "site-source" / "extra")]
exclude_patterns = [".*", "**/node_modules", "bundles", "build", "dist", "report", "site", "tests"]
myst_heading_anchors = 4  # as GitHub makes them
highlight_language = "none"
nitpicky = True

html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme = "furo"
html_title = "sampler-parity"
html_copy_source = False
html_show_sphinx = html_show_copyright = False

# On the front page, before the first heading: links to pages that only the whole site has.
ON_THIS_SITE = """\
[Each finding](findings/index.md) has a page here with a program that shows
it alone. [Measured](measured/index.md) has engines, releases, platforms and servers.

"""

LINK = re.compile(r"\[([^]]+)\]\(([^)#\s]+)\)")


def without_folders(text: str, folder: Path) -> str:
    """Replace a link to a folder of the repository by its text: the site has no folders."""
    return LINK.sub(lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def on_read(app: Any, page: str, source: list[str]) -> None:
    root = Path(app.srcdir)
    source[0] = without_folders(source[0], (root / page).parent)
    if page == root_doc:
        parts = (menu(root, name, pages) for name, pages in NAVIGATION.items())
        text = source[0].replace("## ", ON_THIS_SITE + "## ", 1) if WHOLE else source[0]
        source[0] = text + "\n" + "\n".join(parts)
    for above, pages in BELOW.items():
        if page == normpath(f"docs/{above}"):
            source[0] += "\n" + menu(root, "", pages)


def menu(root: Path, name: str, pages: list[str]) -> str:
    """Return a hidden toctree; name: its caption in the menu, or ""."""
    paths = [Path(normpath(f"docs/{page}.md")) for page in pages]
    lines = [f"{short_title(root / path)} </{path.with_suffix('').as_posix()}>" for path in paths]
    caption = [f":caption: {name}"] if name else []
    return "\n".join(["```{toctree}", ":hidden:", *caption, "", *lines, "```", ""])


def short_title(path: Path) -> str:
    """Return the heading up to a colon, without backticks, which a menu would show."""
    heading = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ").replace("`", "")
    before, _, behind = heading.partition(": ")
    return behind if before == "Findings" and behind else before


def on_end(app: Any, error: Exception | None) -> None:
    """Copy the front page to index.html, which a host shows."""
    if error is None:
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Any) -> None:
    app.connect("source-read", on_read)
    app.connect("build-finished", on_end)
