"""Items, the entries of a plan."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks import KINDS, CheckKind


@dataclass(frozen=True)
class CheckItem:
    """A case, a distribution test, a workload, a timed chain or a width, with its suite."""

    suite: str
    check: Any

    @property
    def kind(self) -> CheckKind:
        return KINDS[self.check.check]

    @cached_property
    def id(self) -> str:
        """The id that `--case` takes."""
        name: str = getattr(self.check, "result_id", self.check.id)
        return name

    def result_ids(self, backends: Iterable[str]) -> list[str]:
        """Return the ids of its results. Raises InputError for an unknown backend."""
        if not self.kind.each:
            return [self.id]
        return [result_id(self.id, name) for name in backends]


def result_id(item: str, backend: str) -> str:
    """Return the id of a result of one backend. Raises InputError for an unknown backend."""
    return f"{item}@{registry.command_of(backend)[0]}"
