"""A file of settings after it was read: what kind of file, and its values by their names in it."""

from dataclasses import dataclass, field
from typing import Any, Literal

Layer = Literal["model", "flag", "server", "request"]  # a higher one overrides a lower one
LAYERS: tuple[Layer, ...] = ("model", "flag", "server", "request")


@dataclass(frozen=True)
class Source:
    """path: of the file. title: what it is, for people. engine: whose names it has. unknown: names
    that look like misspelled ones, with a suggestion."""

    path: str
    title: str
    layer: Layer
    engine: str
    values: dict[str, Any]
    unknown: dict[str, str] = field(default_factory=dict)
