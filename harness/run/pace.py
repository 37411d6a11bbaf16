"""How far a run is, and how long it still takes.

Kind by kind, in the order in which they are done. What of a kind took so far says how long the rest
of it takes; of a kind that has not begun, the estimate of `run --plan` does.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from sampler_parity.harness.bundle.bundle import Result
from sampler_parity.harness.checks.progress import Seen
from sampler_parity.harness.checks.skip_ratio.run import result_id
from sampler_parity.harness.run.plan import SECONDS, Plan
from sampler_parity.harness.suite.timings import rule_chains

# By the kind of its record, what a result is called.
WHAT = {
    "case": "cases",
    "decode": "cases",
    "invariance": "cases",
    "distribution": "distribution tests",
    "skip_ratio": "skip ratios",
    "timing": "timed chains",
    "throughput": "widths",
}


@dataclass(frozen=True)
class Work:
    """Results of a kind: how many there will be, how many there were before. seconds: of one, a
    guess."""

    what: str
    total: int
    before: int
    seconds: float


Watch = Callable[[list[Work]], AbstractContextManager[Seen]]


def work_of(plan: Plan, done: set[str]) -> list[Work]:
    """The whole of a plan. done: the ids of the results that its bundle has."""
    cases = [case for _, case in plan.cases]
    of_case = sum(SECONDS[case.kind] for case in cases) / max(1, len(cases))
    ruled = [chain.result_id for chain in rule_chains()] if plan.ruled else []
    skips = [result_id(w, name) for _, w in plan.workloads for name in plan.backends]
    of_kind: dict[str, list[str]] = {
        "cases": [case.id for case in cases],
        "distribution tests": [cell.id for _, cell in plan.cells],
        "skip ratios": skips,
        "timed chains": [*ruled, *(chain.result_id for _, chain in plan.timings)],
        "widths": [width.id for _, width in plan.widths],
    }
    seconds = SECONDS | {"cases": of_case}
    return [
        Work(what, len(ids), len(done & {*ids}), seconds[what] * len(plan.backends))
        for what, ids in of_kind.items()
        if ids
    ]


@dataclass
class Pace:
    """What of the work is done. now: seconds, of any clock, at its beginning."""

    works: list[Work]
    now: float
    fresh: Counter[str] = field(default_factory=Counter)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def ended(self, results: Sequence[Result], now: float) -> None:
        """The time since the last ones was theirs."""
        for result in results:
            self.fresh[WHAT[result.kind]] += 1
        if results:
            self.spent[WHAT[results[-1].kind]] += now - self.now
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
            done = work.before + self.fresh[work.what]
            if done < work.total:
                return work, done
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
