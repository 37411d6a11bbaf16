"""Items, the entries of a plan. They are kept packed, because a run may have a million of them."""

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.rows import CheckKind

_TOGETHER = 10  # checks of a group: portions end at multiples of it, but for the first


class CheckItem:
    """A case, a distribution test, a workload, a timed chain or a width, with its suite.

    id: the one that `--case` takes. cost: of the check, 0 for a timed one.
    """

    __slots__ = ("_check", "_group", "_place", "cost", "id", "kind_name", "suite")

    def __init__(self, suite: str, check: Any) -> None:
        self.suite, self.kind_name = suite, check.check
        self.id: str = getattr(check, "result_id", check.id)
        self.cost: float = getattr(check, "cost", 0)
        self._check, self._group, self._place = check, b"", 0

    @property
    def kind(self) -> CheckKind:
        return KINDS[self.kind_name]

    @property
    def check(self) -> Any:
        return _unpacked(self._group)[self._place] if self._group else self._check

    def result_ids(self, backends: Iterable[str]) -> list[str]:
        """Return the ids of its results. Raises InputError for an unknown backend."""
        if not self.kind.each:
            return [self.id]
        return [result_id(self.id, name) for name in backends]

    def pack(self, group: bytes, index: int) -> None:
        """Replace the check by its position in a group."""
        self._check, self._group, self._place = None, group, index


def packed(suite: str, checks: Iterable[Any]) -> Iterator[CheckItem]:
    """Yield the items of a suite. Groups of them share one compressed pickle."""
    rest = iter(checks)
    while chunk := [*islice(rest, _TOGETHER)]:
        group = zlib.compress(pickle.dumps(chunk), 1)
        for index, check in enumerate(chunk):
            item = CheckItem(suite, check)
            item.pack(group, index)
            yield item


@lru_cache(maxsize=8)
def _unpacked(group: bytes) -> list[Any]:
    checks: list[Any] = pickle.loads(zlib.decompress(group))
    return checks


class Checks(Mapping[str, Any]):
    """The checks of items by id, unpacked when they are read."""

    def __init__(self, items: Iterable[CheckItem]) -> None:
        self._items = {item.id: item for item in items}

    def __getitem__(self, name: str) -> Any:
        return self._items[name].check

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def result_id(item: str, backend: str) -> str:
    """Return the id of a result of one backend. Raises InputError for an unknown backend."""
    return f"{item}@{registry.command_of(backend)[0]}"
