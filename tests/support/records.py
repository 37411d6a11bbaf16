"""Fields of records that tests change a little: records.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _records() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def record(name: str, **changes: Any) -> dict[str, Any]:
    """Return the fields of a record, some of them with other values."""
    return _records()[name] | changes
