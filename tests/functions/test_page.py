"""docs/check-a-function.md and the notebook: each example runs, and prints what the page shows."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import seed

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "check-a-function.md").read_text(encoding="utf-8")
NOTEBOOK = ROOT / "examples" / "check_a_function.ipynb"
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)


def test_each_example_of_the_page_prints_what_it_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    pairs = zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True)
    for (kind, code), (next_kind, shown) in pairs:
        if kind != "python" or ("import torch" in code and not find_spec("transformers")):
            continue
        exec(compile(code, "page", "exec"), names)
        if next_kind == "text":
            assert capsys.readouterr().out == shown
    with pytest.raises(AssertionError):
        seed(1)(names["test_drawn"])()


def test_each_cell_of_the_notebook_runs() -> None:
    names: dict[str, Any] = {"__name__": "notebook"}
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    shown = [_last_value(source, names) for source in sources]
    assert [bool(value) for value in shown] == [False, True, False, True, False]
    assert all(value._repr_html_().startswith("<p><b>") for value in shown)


def _last_value(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line."""
    *before, last = source.splitlines()
    exec(compile("\n".join(before), "cell", "exec"), names)
    return eval(last, names)
