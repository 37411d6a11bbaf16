"""Cases and programs of the tests of engines: cases/NAME.toml next to test_NAME.py."""

import tomllib
from pathlib import Path
from typing import Any


def cases_of(test: str) -> dict[str, Any]:
    """Return the tables of a test: lists of cases, or texts. test: the path of its file."""
    path = Path(test)
    file = path.parent / "cases" / f"{path.stem.removeprefix('test_')}.toml"
    tables: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return tables
