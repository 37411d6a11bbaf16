"""The rooms and their order: imports go down, and no file imports itself by way of others.

ROOMS is the house, ground floor first. A file may import its own room and those below it. Imports
inside functions count, too; those for types alone (`if TYPE_CHECKING`) do not.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "sampler_parity."

ROOMS = (
    "reference",
    "harness.foreign",
    "harness.errors",
    "harness.verdicts",
    "harness.strict",
    "harness.files",
    "harness.engines",
    "harness.processes",
    "harness.statistics",
    "harness.protocol",
    "harness.bundle",
    "harness.inputs",
    "harness.llama_cpp",
    "harness.backends",
    "harness.trie",
    "harness.suite",
    "harness.parity",
    "harness.repro",
    "harness.speculative",
    "harness.distribution",
    "harness.timing",
    "harness.golden",
    "harness.servers",
    "harness.comparison",
    "harness.gate",
    "harness.mutants",
    "harness.run",
    "harness.lint",
    "harness.pytest_plugin",
    "reports.render",
    "reports.pages",
    "reports.write",
    "harness.cli",
)


class Import(NamedTuple):
    """A line that imports a module of ours."""

    path: Path
    line: int
    module: str


@functools.cache
def sources(root: Path, folder: str) -> list[Path]:
    """Our Python files in a folder, and not those of packages that lie there."""
    return sorted(p for p in (root / folder).rglob("*.py") if "node_modules" not in p.parts)


@functools.cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(root: Path) -> dict[str, Path]:
    """The modules of the product, by name without the namespace."""
    paths = {}
    for folder in ("reference", "harness", "reports"):
        for path in sources(root, folder):
            parts = path.relative_to(root).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Every import of one of our modules in a file."""
    for node in _nodes(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            module = name.removeprefix(NAMESPACE)
            if name.startswith(NAMESPACE):
                module = module if module in known else module.rpartition(".")[0]
                yield Import(path, node.lineno, module)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Its statements: an import is one, and expressions have none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _nodes(node)


def floor_of(module: str) -> int:
    """The number of the module's room. Raises ValueError for a module in no room."""
    for number, room in enumerate(ROOMS):
        if module == room or module.startswith(f"{room}."):
            return number
    raise ValueError(f"{module} is in no room: add it to ROOMS")


def upward(root: Path) -> list[str]:
    """Imports from a room above, one line each: file, line, and what is imported."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}, which is above it"
        for module, path in known.items()
        if module not in ("harness", "reports")
        for line in imports(path, known)
        if floor_of(line.module) > floor_of(module)
    ]


def circles(root: Path) -> list[str]:
    """Files that import each other, directly or by way of others: the shortest way round."""
    known = modules(root)
    graph = {m: {i.module for i in imports(path, known)} - {m} for m, path in known.items()}
    rounds = set()
    for start in graph:
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop(0)
            for module in sorted(graph.get(way[-1], ())):
                if module == start:
                    turn = way.index(min(way))
                    rounds.add(" -> ".join([*way[turn:], *way[:turn], way[turn]]))
                    ways = []
                    break
                if module not in seen:
                    seen.add(module)
                    ways.append([*way, module])
    return sorted(rounds)


def test_imports_go_down() -> None:
    assert upward(ROOT) == []


def other_pages(root: Path) -> list[str]:
    """Imports of one page of the reports by another: what two need belongs to reports/render."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}, another page"
        for module, path in known.items()
        if module.startswith("reports.pages.")
        for line in imports(path, known)
        if line.module.startswith("reports.pages.")
        and line.module.split(".")[2] != module.split(".")[2]
    ]


def test_no_page_of_the_reports_imports_another() -> None:
    assert other_pages(ROOT) == []


def test_planted_import_of_another_page_is_named(tmp_path: Path) -> None:
    for name in ("index/build.py", "parity/markdown.py"):
        (tmp_path / "reports/pages" / name).parent.mkdir(parents=True)
        (tmp_path / "reports/pages" / name).write_text("")
    line = "from sampler_parity.reports.pages.parity.markdown import code\n"
    (tmp_path / "reports/pages/index/build.py").write_text(line)
    assert other_pages(tmp_path) == [
        "reports/pages/index/build.py:1: imports reports.pages.parity.markdown, another page"
    ]


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert circles(ROOT) == []


def test_harness_has_at_most_six_modules_beside_its_rooms() -> None:
    names = [p.name for p in (ROOT / "harness").glob("*.py") if p.name != "__init__.py"]
    assert len(names) <= 6, names


PAST = re.compile(r"(?m)^\s*(?:from|import) (?:harness|reference|reports|suites|golden)\b.*")


def past_the_namespace(root: Path) -> list[str]:
    folders = ("reference", "harness", "reports", "studies", "tests", "examples")
    paths = [path for folder in folders for path in sources(root, folder)]
    return [f"{path}: {n}" for path in paths for n in PAST.findall(path.read_text("utf-8"))]


def test_no_import_goes_past_the_namespace(tmp_path: Path) -> None:
    assert past_the_namespace(ROOT) == []
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text("import os\nif os:\n    from harness.run import x\n")
    assert past_the_namespace(tmp_path) == [f"{tmp_path}/tests/a.py:     from harness.run import x"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from sampler_parity.harness.run import cases", "harness.run.cases"),
        ("def f():\n    from sampler_parity.reports.write import write_report", "reports.write"),
    ],
    ids=["of the module", "inside a function"],
)
def test_planted_upward_import_is_named_with_file_and_line(
    tmp_path: Path, line: str, said: str
) -> None:
    for name in ("harness/bundle/bundle.py", "harness/run/cases.py", "reports/write.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "harness/bundle/bundle.py").write_text(f"import os\n{line}\n")
    (problem,) = upward(tmp_path)
    assert problem.startswith("harness/bundle/bundle.py:")
    assert f"imports {said}, which is above it" in problem


def test_planted_circle_is_named(tmp_path: Path) -> None:
    (tmp_path / "harness/gate").mkdir(parents=True)
    for name, other in ("gate", "rules"), ("rules", "words"), ("words", "gate"):
        text = f"from sampler_parity.harness.gate.{other} import x\n"
        (tmp_path / f"harness/gate/{name}.py").write_text(text)
    (circle,) = circles(tmp_path)
    assert circle.split(" -> ") == [
        *("harness.gate.gate", "harness.gate.rules", "harness.gate.words", "harness.gate.gate"),
    ]
