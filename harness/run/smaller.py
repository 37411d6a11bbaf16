"""After the cases of a run: of each group of failures one is made small, within a stated time.

A sampler that is wrong everywhere fails in hundreds of cases and in few groups. The worst groups
come first, of each its cheapest case; what the time does not reach is said to have had none.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult
from sampler_parity.harness.parity.counterexample import (
    NO_TIME,
    Looks,
    counterexample,
    looks,
    to_shrink,
)
from sampler_parity.harness.parity.groups import Group, groups
from sampler_parity.harness.processes.pool import Died, Pool
from sampler_parity.harness.run.cases import backend
from sampler_parity.harness.run.cluster import Cluster
from sampler_parity.harness.run.seen import Seen
from sampler_parity.harness.suite.case import Case

# Seconds for a group and, of all of them together, as a share of what the cases took: a run that is
# wrong takes at most twice the time of one that is right, of which judging what differs has a part.
OF_A_GROUP = 3.0
AT_LEAST = 5.0
SHARE = 0.3


def seconds_for(cases_s: float) -> float:
    """How long a run may make failures small whose cases took so long."""
    return max(AT_LEAST, SHARE * cases_s)


def small_of(
    cases: list[Case], name: str, release: str | None, of: Looks, timeout_s: float, seconds: float
) -> CounterexampleResult:
    """One of the cases made small; the function that an executor gets. name: of the backend, as it
    is started."""
    asked = backend(name, min(timeout_s, OF_A_GROUP))
    releases = {asked.name: release} if release is not None else {}
    return counterexample(cases, asked, of, releases, seconds)


def make_small(
    judged: Sequence[CaseResult],
    cases: Mapping[str, Case],
    info: RunInfo,
    names: Mapping[str, str | None],
    executor: Pool | Cluster,
    timeout_s: float,
    seconds: float,
    seen: Seen,
    done: Collection[str] = (),
) -> Iterator[CounterexampleResult]:
    """A counterexample of each group, or why there is none. names: as of `run_chunk`. done: the ids
    of those that there are."""
    deadline = time.monotonic() + seconds
    full = {registry.command_of(name)[0]: name for name in names}
    results = {result.id: result for result in judged}
    left = [
        (group, of_group)
        for group, of_group in to_shrink(groups(info, judged), dict(cases))
        if not any(f"{case} on {group.backend}" in done for case in group.cases)
    ]
    total = len(left)
    while left:
        seen([], f"making failure {total - len(left) + 1} of {total} small")
        wave, left = left[: executor.size], left[executor.size :]
        remaining = min(OF_A_GROUP, deadline - time.monotonic())
        if remaining <= 0:
            yield from (_without(group, of_group[0], NO_TIME) for group, of_group in wave)
            continue
        calls = []
        for group, of_group in wave:
            name = full[group.backend]
            of = looks(results[group.cases[0]].backends[group.backend])
            calls.append((of_group, name, names[name], of, timeout_s, remaining))
        for place, outcome in executor.each(small_of, calls):
            group, of_group = wave[place]
            died = isinstance(outcome, Died)
            yield _without(group, of_group[0], f"its process died: {outcome}") if died else outcome


def _without(group: Group, case: Case, said: str) -> CounterexampleResult:
    return CounterexampleResult(
        id=f"{case.id} on {group.backend}", case=case.id, backend=group.backend, said=said
    )
