"""What a plan is a list of."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks import KINDS, Kind


@dataclass(frozen=True)
class Item:
    """A case, a distribution test, a workload, a timed chain or a width, and the suite it is of."""

    suite: str
    check: Any

    @property
    def kind(self) -> Kind:
        return KINDS[self.check.check]

    @property
    def id(self) -> str:
        """What `--case` names it by."""
        name: str = getattr(self.check, "result_id", self.check.id)
        return name

    def result_ids(self, backends: Iterable[str]) -> list[str]:
        """The ids of its results. Raises InputError for an unknown backend."""
        if not self.kind.each:
            return [self.id]
        return [result_id(self.id, name) for name in backends]


def result_id(item: str, backend: str) -> str:
    """The id of a result of one backend. Raises InputError for an unknown backend."""
    return f"{item}@{registry.command_of(backend)[0]}"
