"""Vague names: variables, arguments and files whose whole name is a word without a meaning."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.import_graph import PACKAGES, parsed, sources

ROOT = Path(__file__).parents[2]
# fmt: off
VAGUE = {
    "absent", "again", "alike", "anew", "apart", "asked", "done", "each", "every", "far", "found",
    "given", "here", "kept", "known", "late", "left", "life", "made", "many", "meaning", "named",
    "near", "one", "other", "others", "own", "place", "ready", "seen", "shown", "some", "told",
    "wanted", "way", "whole", "wide",
}
# fmt: on
LIMIT = 5
"""Vague names for every 1,000 bound names. It only goes down: lower it when the count allows."""


def is_vague(name: str) -> bool:
    return name.strip("_").lower() in VAGUE


def bound(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each assignment, argument and caught exception, once for each binding."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name


def counted(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the vague names and all names, by folder."""
    vague, names = Counter[str](), Counter[str]()
    for package in PACKAGES:
        for path in sources(root, package):
            folder = path.relative_to(root).parent.as_posix()
            in_file = [path.stem, *bound(parsed(path))]
            names[folder] += len(in_file)
            vague[folder] += sum(map(is_vague, in_file))
    return vague, names


def problem(root: Path) -> str:
    """Return "" within the limit, else the numbers and the worst folders."""
    vague, names = counted(root)
    if vague.total() * 1000 <= LIMIT * names.total():
        return ""
    worst = [f"{folder}: {n} of {names[folder]}" for folder, n in vague.most_common(10)]
    share = vague.total() * 1000 / names.total()
    return "\n".join([f"{share:.1f} vague names for every 1,000, at most {LIMIT}:", *worst])


@pytest.mark.slow
def test_few_names_are_vague() -> None:
    assert counted(ROOT)[1].keys() >= set(PACKAGES)
    if text := problem(ROOT):
        pytest.fail(text, pytrace=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("module.py", "found = 1\n"),
        ("module.py", "_WANTED: int = 1\n"),
        ("module.py", "def value(given): ...\n"),
        ("module.py", "size = lambda *, other: 1\n"),
        ("module.py", "items = [0 for each in ()]\n"),
        ("module.py", "try: ...\nexcept OSError as told: ...\n"),
        ("module.py", "match 1:\n    case kept: ...\n"),
        ("meaning.py", "value = 1\n"),
    ],
)
def test_a_vague_name_is_counted(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "harness/run").mkdir(parents=True)
    (tmp_path / "harness/run" / name).write_text(text)
    assert counted(tmp_path)[0] == {"harness/run": 1}
    assert "\nharness/run: 1 of " in problem(tmp_path)


def test_the_limit_is_a_share_of_all_names(tmp_path: Path) -> None:
    share = f"{LIMIT + 1}.0 vague names for every 1,000, at most {LIMIT}:"
    for vague, shown in (LIMIT, ""), (LIMIT + 1, f"{share}\nreports: {LIMIT + 1} of 1000"):
        path = tmp_path / str(vague) / "reports/page.py"
        path.parent.mkdir(parents=True)
        path.write_text("found = 1\n" * vague + "row = 1\n" * (1000 - 1 - vague))  # its own name
        assert problem(tmp_path / str(vague)) == shown
