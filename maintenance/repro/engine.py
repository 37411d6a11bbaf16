"""The parts of an engine's script: SCRIPT in engines/NAME/script.py."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.errors import InputError
from sampler_parity.maintenance.repro.asked import ProgramParts

Stages = list[tuple[str, dict[str, Any]]]  # up to the one that differs

# In a script in Python: the row, and the candidates expected after a stage.
GIVEN = """\
inf, nan = float("inf"), float("nan")
LOGITS = [
{row}
]
IDS = [{ids}]  # what {stage} leaves {whose}
VALUES = [
{values}
]
"""


@dataclass(frozen=True)
class EngineScript:
    """module: the path of an engine's script.py. script.txt next to it has the text with fields.
    All engines fill `title`, `about`, `packages`, `file`, `row`, `ids`, `values` and `stage`;
    `given` is GIVEN. file: its name. packages: as an installer names them, of the versions that a
    backend reports. fields: further fields of the engine's text, or others in place of those."""

    module: str
    file: str
    packages: Callable[[str], str]
    fields: Callable[[ProgramParts, Stages, list[int]], dict[str, str]]

    @property
    def source(self) -> str:
        text = Path(self.module).with_suffix(".txt").read_text(encoding="utf-8")
        return text.replace("{given}\n", GIVEN)


def pinned(version: str) -> str:
    """Format `transformers 5.23.0, torch 2.13.0+cpu` as pip names them; a device is not a
    package."""
    words = [part.split(" ") for part in version.split(", ")]
    pairs = [pair for pair in words if len(pair) == 2]
    return " ".join(f"{name}=={number.split('+')[0]}" for name, number in pairs)


def keywords(of: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in of.items())


def number(value: Any) -> str:
    """Format a float32 as a literal that Python and JavaScript read as the same float32."""
    return str(np.float32(value)).replace("np.float32(", "").rstrip(")")


Calls = Callable[[str, dict[str, Any], list[int]], tuple[list[str], list[str]]]


def of_calls(calls: Calls, in_javascript: bool = False) -> Any:
    """Return the fields of a text that is stage after stage; calls: the lines of one, and its
    imports."""

    def fields(_parts: ProgramParts, stages: Stages, tokens: list[int]) -> dict[str, str]:
        if any(name in ("dist", "greedy") for name, _ in stages):
            raise InputError("the case", "differs in the selected token", "name a case of a filter")
        parts = [calls(name, of, tokens) for name, of in stages]
        names = sorted({name for _, imported in parts for name in imported})
        imported = (
            f"from transformers import {', '.join(names)}" if names else "import transformers"
        )
        return {
            "imported": ", ".join(["Tensor", *names]) if in_javascript else imported,
            "calls": "\n".join(line for source_lines, _ in parts for line in source_lines),
        }

    return fields
