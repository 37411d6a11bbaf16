"""What is no sampler and has no stage of a chain, wrong in one way."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """make: what is faulty, in the place of `right`. check: says what is wrong with one, or ""; of
    `right` it must say nothing, of `make` something that begins with the cause. text: the fault;
    "": what the docstring of `make` says."""

    name: str
    make: Any
    right: Any
    check: Callable[[Any], str]
    cause: str = ""
    text: str = ""

    @property
    def fault(self) -> str:
        return self.text or inspect.getdoc(self.make) or ""
