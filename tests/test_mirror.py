"""The tests mirror the packages of harness, a folder each; shared code is in tests/support."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOT_OF_HARNESS = {
    *("attack", "functions", "maintenance", "programs", "project", "reference", "reports"),
    *("studies", "support", "vectors"),
}


def imports_of_tests(root: Path) -> list[str]:
    """Return the imports of test files, one line each: file, line, and what is imported."""
    return [
        f"{path.relative_to(root)}:{line}: imports {module}: move what is shared to tests/support"
        for path in sorted((root / "tests").rglob("*.py"))
        for line, module in _imported(ast.parse(path.read_text(encoding="utf-8")))
        if any(part.startswith("test_") for part in module.split("."))
    ]


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line of every import and the names it imports, absolute or relative."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names)


@pytest.mark.slow
def test_no_file_imports_a_file_of_tests() -> None:
    assert imports_of_tests(ROOT) == []


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert folders - packages - NOT_OF_HARNESS == set()


@pytest.mark.parametrize(
    "line",
    [
        "from tests.run.test_run import cli",
        "from tests.run import test_run",
        "from .test_run import x",
    ],
    ids=["a name", "the module", "relative"],
)
def test_planted_import_of_a_file_of_tests_is_named_with_file_and_line(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "tests" / "gate" / "test_gate.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"import os\n\n\ndef f():\n    {line}\n")
    (problem,) = imports_of_tests(tmp_path)
    assert problem.startswith("tests/gate/test_gate.py:5: imports ")
    assert "test_run" in problem
