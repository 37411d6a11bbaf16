"""The progress of a run, and the time that it still takes.

Kinds are counted one by one, in the order in which they run. The time of a kind so far predicts the
rest of it. No time is stated if it would mostly be a guess, or has proved wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.checks import NOUNS, kind_of_record
from sampler_parity.harness.checks.context import ProgressCallback
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.run.plan import Plan
from sampler_parity.harness.suite.timings import rule_chains


@dataclass(frozen=True)
class Work:
    """Results of a kind of check. what: its noun. total: at the end; before: at the start. seconds:
    an estimate for one. ids: of the results; none for the most frequent kind of a noun."""

    what: str
    total: int
    before: int
    seconds: float
    ids: frozenset[str] = frozenset()


Watch = Callable[[list[Work]], AbstractContextManager[ProgressCallback]]


def work_of(plan: Plan, finished: set[str]) -> list[Work]:
    """Return the whole work of a plan. finished: the ids of the results that its bundle has."""
    planned = list(plan.items)
    if plan.ruled:
        planned += [CheckItem("timing/samplers", chain) for chain in rule_chains()]
    works = []
    for noun in NOUNS:
        kinds: dict[str, list[CheckItem]] = {}
        for item in planned:
            if item.kind.noun == noun:
                kinds.setdefault(item.kind_name, []).append(item)
        for items in kinds.values():
            ids = [name for item in items for name in item.result_ids(plan.backends)]
            seconds = items[0].kind.seconds * len(plan.backends)
            listed = frozenset(ids if items is not max(kinds.values(), key=len) else ())
            works.append(Work(noun, len(ids), len(finished & {*ids}), seconds, listed))
    return works


@dataclass
class Pace:
    """The finished part of the work. now: the time of the last result, in seconds of any clock.
    fresh, spent: how many results of each work came, and their seconds."""

    works: list[Work]
    now: float
    fresh: Counter[int] = field(default_factory=Counter)
    spent: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def ended(self, results: Sequence[Result], now: float) -> None:
        """Count finished results. The time since the last ones was spent on them."""
        places = [self._place(result) for result in results]
        self.fresh.update(places)
        for index in places[-1:]:
            self.spent[index] += now - self.now
            self.now = now

    def _place(self, result: Result) -> int:
        noun = kind_of_record(result.kind).noun
        places = [index for index, work in enumerate(self.works) if work.what == noun]
        listed = (index for index in places if result.id in self.works[index].ids)
        return next(listed, next((p for p in places if not self.works[p].ids), -1))

    def _left(self, index: int) -> int:
        work = self.works[index]
        return max(0, work.total - work.before - self.fresh[index])

    @property
    def done(self) -> int:
        return sum(work.before for work in self.works) + self.fresh.total()

    @property
    def total(self) -> int:
        return sum(work.total for work in self.works)

    @property
    def under_way(self) -> tuple[str, int, int] | None:
        """The first noun of which something is left, how many of it are done, and of how many."""
        for index, work in enumerate(self.works):
            if self._left(index):
                same = [i for i, other in enumerate(self.works) if other.what == work.what]
                total = sum(self.works[i].total for i in same)
                return work.what, total - sum(map(self._left, same)), total
        return None

    def seconds_left(self, now: float) -> float | None:
        """Return the time for all that is left, from the rates of its kinds. None if it is mostly a
        guess, or the last result is longer ago than all should take."""
        measured = unmeasured = 0.0
        for index, work in enumerate(self.works):
            if fresh := self.fresh[index]:
                measured += self._left(index) * self.spent[index] / fresh
            else:
                unmeasured += self._left(index) * work.seconds
        left = measured + unmeasured - (now - self.now)
        return left if measured > unmeasured and left > 0 else None
