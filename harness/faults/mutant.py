"""The type of a planted fault."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.faults.patch import Patch


@dataclass(frozen=True)
class Mutant:
    """A sampler, a chain or a batch that is wrong in one named way.

    name: "<sampler>/<fault>", the sampler spelled as everywhere, or "chain", or "batch".
    of: a change of the reference's text or, for an engine's stage, the faulty class, built in the
        sampler's place.
    source: the entry of the bug zoo and the public thread it is modelled on, or "ours".
    stage: the stage at which it must be caught; the sampler itself if no other is named.
        A fault that ends the worker leaves no stage: "crashed".
    case: the beginning of the id of the case made for it; tried first.
    text: the description of the fault; a class has it in its docstring.
    of_order: whether it changes which stages a chain has or their order: it shows at any of them.
    """

    name: str
    of: Patch | Callable[..., Any]
    source: str = "ours"
    at: str = ""
    case: str = ""
    text: str = ""
    of_order: bool = False

    @property
    def make(self) -> Callable[..., Any]:
        """The function that builds it. Raises InputError for a patch that does not fit the
        reference."""
        return self.of.faulty() if isinstance(self.of, Patch) else self.of

    @property
    def sampler(self) -> str:
        return self.name.split("/")[0]

    @property
    def stage(self) -> str:
        return self.at or self.sampler

    @property
    def fault(self) -> str:
        return self.text or inspect.getdoc(self.of) or ""
