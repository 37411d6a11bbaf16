"""The progress of a run, and the time that it still takes.

Kinds are counted one by one, in the order in which they run. The time of a kind so far predicts the
rest of it; before a kind has begun, the estimate of `run --plan` does.
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
    """Results of a kind. total: at the end; before: at the start. seconds: an estimate for one."""

    what: str
    total: int
    before: int
    seconds: float


Watch = Callable[[list[Work]], AbstractContextManager[ProgressCallback]]


def work_of(plan: Plan, finished: set[str]) -> list[Work]:
    """Return the whole work of a plan. finished: the ids of the results that its bundle has."""
    planned = list(plan.items)
    if plan.ruled:
        planned += [CheckItem("timing/samplers", chain) for chain in rule_chains()]
    works = []
    for noun in NOUNS:
        items = [item for item in planned if item.kind.noun == noun]
        ids = [name for item in items for name in item.result_ids(plan.backends)]
        if items:
            seconds = sum(item.kind.seconds for item in items) / len(items)
            works.append(Work(noun, len(ids), len(finished & {*ids}), seconds * len(plan.backends)))
    return works


@dataclass
class Pace:
    """The finished part of the work. now: its start in seconds, of any clock."""

    works: list[Work]
    now: float
    fresh: Counter[str] = field(default_factory=Counter)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def ended(self, results: Sequence[Result], now: float) -> None:
        """Count finished results. The time since the last ones was spent on them."""
        for result in results:
            self.fresh[kind_of_record(result.kind).noun] += 1
        if results:
            self.spent[kind_of_record(results[-1].kind).noun] += now - self.now
            self.now = now

    @property
    def done(self) -> int:
        return sum(work.before + self.fresh[work.what] for work in self.works)

    @property
    def total(self) -> int:
        return sum(work.total for work in self.works)

    @property
    def under_way(self) -> tuple[Work, int] | None:
        """The first kind of which something is left, and how many of it are done."""
        for work in self.works:
            finished = work.before + self.fresh[work.what]
            if finished < work.total:
                return work, finished
        return None

    @property
    def seconds_left(self) -> float:
        return sum(
            max(0, work.total - work.before - self.fresh[work.what]) * self._of_one(work)
            for work in self.works
        )

    def _of_one(self, work: Work) -> float:
        fresh = self.fresh[work.what]
        return self.spent[work.what] / fresh if fresh else work.seconds
