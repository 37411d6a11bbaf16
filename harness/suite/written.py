"""Write a case as a suite file has it: a [[case]] block of TOML."""

import json
import math
from typing import Any


def case_block(case: dict[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in case.items()]
    return "\n".join(["[[case]]", *lines]) + "\n"


def _value(value: Any) -> str:
    """Return a value as inline TOML, because a table of its own cannot be inside a list."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if value is None:
        return '""'  # TOML has no null; dry skips a breaker that is empty as one that is none
    # TOML writes texts, integers, true as JSON does, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
