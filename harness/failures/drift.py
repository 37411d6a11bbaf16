"""The changes between releases that a run shows: the cases that need an old meaning, and the
smallest of them on the newest release that has it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from sampler_parity.harness.bundle.records import CaseResult, ChangeResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.failures.shrink import shown as as_shown
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.reference.chronology import order
from sampler_parity.reference.releases import CHANGES, Change

Start = Callable[[str], Backend]


def change_results(
    results: Iterable[CaseResult],
    cases: Mapping[str, Case],
    releases: Mapping[str, str],
    start: Start,
) -> Iterator[ChangeResult]:
    """Yield a result for each change that these releases and samplers could show; it has no cases
    if none shows it. releases: by backend. start: gives the backend of a name."""
    failures: dict[str, list[tuple[CaseResult, str]]] = defaultdict(list)
    samplers: set[str] = set()
    for result in results:
        samplers |= set(result.samplers)
        for backend in releases:
            for name in result.backends[backend].changes or []:
                failures[name].append((result, backend))
    for change in CHANGES:
        in_force = any(change.in_force(release) for release in releases.values())
        if in_force and samplers & set(change.samplers):
            yield _change_result(change, failures[change.name], cases, releases, start)


def _change_result(
    change: Change,
    failures: list[tuple[CaseResult, str]],
    cases: Mapping[str, Case],
    releases: Mapping[str, str],
    start: Start,
) -> ChangeResult:
    blank = ChangeResult(
        id=f"change/{change.name}",
        samplers=list(change.samplers),
        last_old=change.last_old,
        first_new=change.first_new,
        old=change.old,
        new=change.new,
        cases=dict(Counter(backend for _, backend in failures)),
    )
    if not failures:
        return blank
    newest = max(order(releases[backend]) for _, backend in failures)
    candidates = [pair for pair in failures if order(releases[pair[1]]) == newest]
    result, backend = min(candidates, key=lambda pair: _size(pair[0], pair[1], cases))
    process, alone = start(backend), result.backends[backend].changes

    def fails(smaller: Case) -> bool:
        rerun = execute(smaller, [process], None, releases)
        return not rerun.refusal and rerun.backends[backend].changes == alone

    small = shrink(cases[result.id], fails)
    smallest = execute(small, [process]).backends[backend]
    return blank.model_copy(
        update={
            "backend": backend,
            "suite": result.suite,
            "case": result.id,
            "counterexample": as_shown(small),
            "result": smallest,
        }
    )


def _size(result: CaseResult, backend: str, cases: Mapping[str, Case]) -> tuple[int, int, int, str]:
    """Return a sort key: few changes first, no mere draws, few values."""
    case = cases[result.id]
    return len(result.backends[backend].changes or []), case.n_draws, case.cost, case.id
