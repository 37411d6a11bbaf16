"""Values that a run passes along are grouped: no function of it takes more than five parameters."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 5


def too_many(folder: Path) -> list[str]:
    """Functions and methods with more, one line each; self and cls do not count."""
    return [
        f"{path.name}:{node.lineno}: {node.name} takes {count} parameters"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (count := _count(node.args)) > MOST
    ]


def _count(arguments: ast.arguments) -> int:
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_function_of_a_run_takes_more_than_five_parameters() -> None:
    assert too_many(ROOT / "harness/run") == []


def test_planted_function_with_six_is_named_with_its_line(tmp_path: Path) -> None:
    text = (
        "def five(a, b, c, d, *, e): ...\n\nclass A:\n    def six(self, a, b, c, d, e, *, f): ...\n"
    )
    (tmp_path / "planted.py").write_text(text)
    assert too_many(tmp_path) == ["planted.py:4: six takes 6 parameters"]
