"""What a planted fault is."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """A sampler or a chain that is wrong in one named way.

    name: "<sampler>/<fault>", the sampler spelled as everywhere, or "chain".
    make: the faulty class, built in the sampler's place. For a chain: takes the list of samplers.
        Its docstring says what is wrong.
    source: the entry of the bug zoo and the public thread it is modelled on, or "ours".
    stage: the stage at which it must be caught; the sampler itself where nothing else is named.
        A fault that ends the worker leaves no stage: "crashed".
    case: the beginning of the id of the case made for it; tried first.
    """

    name: str
    make: Callable[..., Any]
    source: str = "ours"
    at: str = ""
    case: str = ""

    @property
    def sampler(self) -> str:
        return self.name.split("/")[0]

    @property
    def stage(self) -> str:
        return self.at or self.sampler

    @property
    def of_order(self) -> bool:
        """Whether it is in which stages a chain has and in what order: it shows at any of them."""
        return self.sampler == "chain" and not inspect.isclass(self.make)

    @property
    def fault(self) -> str:
        return inspect.getdoc(self.make) or ""
