"""The imports of our modules by each other, as their files state them.

Imports inside functions count, too. A row of harness/rows names modules as text: that is no import.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NAMESPACE = "sampler_parity."
PACKAGES = ("reference", "harness", "reports", "programs", "functions", "vectors", "maintenance")
FOLDERS = (*PACKAGES, "engines")


class Import(NamedTuple):
    """A line that imports a module of ours."""

    path: Path
    line: int
    module: str


@functools.cache
def sources(root: Path, folder: str) -> list[Path]:
    """Return our Python files in a folder, without those of installed packages."""
    return sorted(p for p in (root / folder).rglob("*.py") if "node_modules" not in p.parts)


@functools.cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(root: Path) -> dict[str, Path]:
    """Return the modules of the product, by name without the namespace."""
    paths = {}
    for folder in FOLDERS:
        for path in sources(root, folder):
            if path.name.startswith("test_"):  # of an engine, next to what it tests
                continue
            parts = path.relative_to(root).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Yield every import of one of our modules in a file."""
    for node in _statements(parsed(path)):
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


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield its statements: an import is one, and expressions have none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        yield node
        yield from _statements(node)


def closure(module: str, known: dict[str, Path]) -> set[str]:
    """Return the modules that a module needs: all that it imports, by way of others or not, and the
    packages that they are in. Imports for types alone do not count."""
    needed, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        packages = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
        for package in packages & known.keys() - needed:
            needed.add(package)
            waiting += _needed(known[package], frozenset(known.items()))
    return needed


@functools.cache
def _needed(path: Path, known: frozenset[tuple[str, Path]]) -> list[str]:
    modules_by_name = dict(known)
    of_types = {
        node.lineno
        for block in ast.walk(parsed(path))
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return [i.module for i in imports(path, modules_by_name) if i.line not in of_types]


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")
