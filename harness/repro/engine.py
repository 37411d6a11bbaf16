"""What a script of an engine is made of: of each engine one row in scripts.py."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.harness.repro.asked import Asked

Stages = list[tuple[str, dict[str, Any]]]  # up to the one that differs

# Of a script in Python: the row, and what a stage should leave of it.
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
class Engine:
    """source: a text with fields, of which all engines have `title`, `about`, `packages`, `file`,
    `row`, `ids`, `values` and `stage`. file: what it is called. packages: as an installer names
    them, of the versions that a backend tells. fields: what the engine's own text has beside them,
    or in place of them."""

    source: str
    file: str
    packages: Callable[[str], str]
    fields: Callable[[Asked, Stages, list[int]], dict[str, str]]


def pinned(version: str) -> str:
    """`transformers 5.23.0, torch 2.13.0+cpu` as pip names them; a device is no package."""
    words = [part.split(" ") for part in version.split(", ")]
    pairs = [pair for pair in words if len(pair) == 2]
    return " ".join(f"{name}=={number.split('+')[0]}" for name, number in pairs)


def keywords(of: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in of.items())


def number(value: Any) -> str:
    """A float32 as a literal that Python and JavaScript read as the same float32."""
    return str(np.float32(value)).replace("np.float32(", "").rstrip(")")
