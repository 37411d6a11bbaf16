"""Print the lines of Python of each package and feature: `python3 scripts/size.py [--base REV]`.

The core is `reference`, `harness` and `reports`. Exit status: 0; 1 the core is above LIMIT or
FILES; 2 the base commit is unknown. `--base auto`: where this branch left main, or on main the
commit before.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
CORE = ("reference", "harness", "reports")
LIMIT = 60_800  # lines of the core
FILES = 450  # of the core
WHOLE = 190_000  # lines of the repository
MAIN = ("origin/main", "main")

# A feature is a folder or file of the second column; its tests are those of its name in the third.
FEATURES = (
    ("check", "harness/checks", "tests/checks"),
    ("engine", "engines", "engines"),
    ("page", "reports/pages", "tests/reports"),
)

Sizes = dict[str, int]  # lines by path from the root


class RevisionError(Exception):
    """Git does not have the base commit."""


def main(root: Path, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Lines of Python by package and by feature.")
    parser.add_argument("--base", metavar="REV", help="print the difference to it; auto: of CI")
    base = parser.parse_args(arguments).base
    sizes = measured(root)
    try:
        before = of_revision(root, base_of(root) if base == "auto" else base) if base else None
    except RevisionError as error:
        print(error, file=sys.stderr)
        return 2
    for line in (*packages(sizes, before), "", *features(sizes), "", limit(sizes)):
        print(line)
    return int(core(sizes) > LIMIT or files_of_core(sizes) > FILES)


def measured(root: Path) -> Sizes:
    """Return the lines of each Python file that git knows or would add; without git, of each."""
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "*.py")
    if listed is None:
        found = (path.relative_to(root) for path in root.rglob("*.py"))
        paths = [
            p.as_posix() for p in found if "node_modules" not in p.parts and p.parts[0][0] != "."
        ]
    else:
        paths = [name for name in listed.splitlines() if (root / name).is_file()]
    return {path: (root / path).read_bytes().count(b"\n") for path in sorted(paths)}


def of_revision(root: Path, revision: str) -> Sizes:
    """Return the lines of each Python file of a commit. Raises RevisionError."""
    if git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        raise RevisionError(f"git has no commit {revision!r}: fetch it, or name another --base")
    counted = git(root, "grep", "--count", "--full-name", "-e", "", revision, "--", "*.py") or ""
    rows = (line.removeprefix(f"{revision}:").rpartition(":") for line in counted.splitlines())
    return {path: int(lines) for path, _, lines in rows}


def base_of(root: Path) -> str:
    """Return the commit where this branch left main; on main itself the commit before."""
    head = git(root, "rev-parse", "HEAD")
    for name in MAIN:
        base = git(root, "merge-base", "HEAD", name)
        if base is not None and base != head:
            return base.strip()
    return "HEAD~1"


def core(sizes: Sizes) -> int:
    """Return the lines of the core."""
    return sum(lines for path, lines in sizes.items() if path.partition("/")[0] in CORE)


def packages(sizes: Sizes, before: Sizes | None) -> Iterator[str]:
    """Yield a line for each package, those of the core first, and one for the core."""
    now, then = _by_package(sizes), _by_package(before or {})
    names = sorted({*now, *then}, key=lambda name: (name.partition("/")[0] not in CORE, name))
    rows = [(name, now[name], then[name]) for name in names]
    rows.append(("core", core(sizes), core(before or {})))
    rows.append(("all", sum(sizes.values()), sum((before or {}).values())))
    for name, lines, earlier in rows:
        change = f"{lines - earlier:>+10,}" if before is not None else ""
        yield f"{name:<24}{lines:>9,}{change}"


def features(sizes: Sizes) -> Iterator[str]:
    """Yield a line for each feature, with the lines of its code and of its tests."""
    yield f"{'feature':<32}{'code':>9}{'tests':>9}"
    for kind, folder, of_tests in FEATURES:
        inside = [path for path in sizes if path.startswith(f"{folder}/")]
        first = {path.split("/")[folder.count("/") + 1] for path in inside}
        if kind == "page":  # of one file
            first = {name.removesuffix(".py") for name in first} - {"__init__"}
        for name in sorted(name for name in first if not name.endswith(".py")):
            tests = {path for path in sizes if _tests(path, f"{of_tests}/", folder, name)}
            own = (f"{folder}/{name}/", f"{folder}/{name}.py")
            code = {path for path in inside if path.startswith(own)} - tests
            yield f"{kind + ' ' + name:<32}{_sum(sizes, code):>9,}{_sum(sizes, tests):>9,}"


def _tests(path: str, of_tests: str, folder: str, name: str) -> bool:
    """Return whether a file has tests of a feature: by its folder, or by its own name."""
    file = PurePosixPath(path)
    if of_tests == f"{folder}/":  # they lie next to the code
        return path.startswith(f"{folder}/{name}/") and file.name.startswith("test_")
    words = f"{file.stem}_"
    return path.startswith(of_tests) and (
        path.startswith(f"{of_tests}{name}/") or words.startswith(f"test_{name}_")
    )


def files_of_core(sizes: Sizes) -> int:
    """Return the number of Python files of the core."""
    return sum(path.partition("/")[0] in CORE for path in sizes)


def limit(sizes: Sizes) -> str:
    """Return the line that compares the core with its limits."""
    counts = (core(sizes), LIMIT, "lines"), (files_of_core(sizes), FILES, "files")
    return "core: " + "; ".join(
        f"{n:,} {unit} of at most {most:,}, "
        + (f"{n - most:,} too many" if n > most else f"{most - n:,} left")
        for n, most, unit in counts
    )


def _by_package(sizes: Sizes) -> Counter[str]:
    """Return the lines of folders: of harness and reports those below, of others the first."""
    counts: Counter[str] = Counter()
    for path, lines in sizes.items():
        folders = path.split("/")[:-1]
        depth = 2 if folders and folders[0] in ("harness", "reports") else 1
        counts["/".join(folders[:depth]) or "."] += lines
    return counts


def _sum(sizes: Sizes, paths: Iterable[str]) -> int:
    return sum(sizes[path] for path in paths)


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints; None where it fails, or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, encoding="utf-8"
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
