"""The first and last step of `make site`; Sphinx builds the pages between them.

python -m scripts.site source FOLDER    the pages, links to ours and those that are generated
python -m scripts.site check SITE       print each dead link; exit status 1 if there is one
"""

import shutil
import sys
from pathlib import Path

from sampler_parity.harness.errors import InputError
from scripts.site import findings, links, measured, pages

ROOT = Path(__file__).resolve().parent.parent.parent
# Folders that pages of docs/ link to. Pages themselves are copied: Sphinx uses their real path.
LINKED = ("examples", "golden", "harness", "maintenance", "functions", "programs", "vectors",
          "reference", "reports", "scripts", "studies", "suites", "tests")  # fmt: skip


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("source", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2])
    try:
        return source(ROOT, folder) if sys.argv[1] == "source" else check(folder)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2


def source(root: Path, folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in root.glob("*.md"):
        shutil.copy(path, folder)
    shutil.copytree(root / "docs", folder / "docs")
    for name in LINKED:
        (folder / name).symlink_to(root / name)
    for engine in (path for path in root.glob("engines/*") if path.is_dir()):
        _copy_engine(engine, folder / "engines" / engine.name)
    every = findings.read(root)
    pages.write(every, root, folder / "findings")
    extra = folder / "extra"
    rows = measured.reported(root / "bundles", extra)
    trend = measured.trended(root / "bundles", root / "history.sqlite", extra)
    measured.badges(rows, every, extra)
    (folder / "measured").mkdir()
    night = root / "bundles" / "night.md"
    if night.is_file():
        shutil.copy(night, folder / "measured" / "night.md")
    (folder / "measured" / "index.md").write_text(
        measured.page(rows, trend, night.is_file()), encoding="utf-8"
    )
    lacking = [f"{row.of.name} ({row.of.command})" for row in rows if row.index is None]
    print(f"site     {len(every)} findings; not measured here: {', '.join(lacking) or 'nothing'}")
    return 0


def _copy_engine(engine: Path, folder: Path) -> None:
    """Copy an engine's pages, and link to the rest of its folder."""
    folder.mkdir(parents=True)
    for path in engine.iterdir():
        if path.suffix == ".md":
            shutil.copy(path, folder)
        else:
            (folder / path.name).symlink_to(path)


def check(site: Path) -> int:
    lines = links.problems(site)
    print("\n".join(lines) if lines else f"site     {site}: every link leads somewhere")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
