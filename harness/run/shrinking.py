"""Minimize one failure of each group after the cases of a run, and name the rule that it breaks.

A sampler that is wrong everywhere fails in hundreds of cases but in few groups. The worst groups
come first, each with its cheapest case. All limits are counts, so a busy machine finds the same. A
group that they do not reach is recorded with that reason.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.records import (
    BackendResult,
    CaseResult,
    CounterexampleResult,
    Known,
)
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.context import RunContext, Terms
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.failures.counterexample import (
    TOO_MANY,
    Looks,
    counterexample,
    looks,
    to_shrink,
)
from sampler_parity.harness.failures.groups import Group, groups
from sampler_parity.harness.failures.readings import broken_rule, named
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import numbers
from sampler_parity.harness.run.crash_journal import REASON, InFlight
from sampler_parity.harness.run.started import backend
from sampler_parity.harness.verdicts import RIGHT, Verdict
from sampler_parity.reference.chronology import NEWEST

if TYPE_CHECKING:
    from sampler_parity.harness.faults.diagnosis import Judged

MINIMIZED = 40  # groups
REPLY_S = 3.0  # a reply to a simpler case that takes longer is none
LOOKED_AT = 32  # failing cases of a group that a fault is compared on.
PASSING = 1000  # Passing cases: in some a fault shows that the backend does not have.
WRONG: tuple[Verdict, ...] = ("diverged", "boundary")  # Verdicts that are compared with faults.
MOSTLY = 0.5  # Of the failures at a stage.
EVIDENCE = 16  # Failing and passing cases on which readings of a rule are tried.
AT_MOST = 20_000  # cost of a case that faults are tried on; each takes milliseconds


def small_of(
    cases: list[Case],
    name: str,
    of: Looks,
    terms: Terms,
    failing: "Judged" = (),
    otherwise: "Judged" = (),
    passing: Sequence[Case] = (),
) -> CounterexampleResult:
    """Minimize one of the cases, and name the rule that it breaks. An executor calls this. name:
    the one that starts the backend. failing, otherwise, passing: cases with its sampler."""
    process = backend(name, min(terms.timeout_s, REPLY_S), files=terms.files.get(name, ()))
    release = terms.backends[name]
    releases = {process.name: release} if release is not None else {}
    with (
        accepting(terms.accept),
        InFlight(terms.in_flight, _id(cases[0], process.name)) as in_flight,
    ):
        process.asking, process.refused = in_flight.asking, None
        evidence = failing, otherwise, passing
        return minimized(cases, process, of, releases, *evidence, afresh_s=terms.timeout_s)


def minimized(
    cases: list[Case],
    process: Backend,
    of: Looks,
    releases: dict[str, str],
    failing: "Judged" = (),
    otherwise: "Judged" = (),
    passing: Sequence[Case] = (),
    afresh_s: float = 60.0,
) -> CounterexampleResult:
    """Minimize one of the cases, and name the rule that a backend breaks. As `small_of`."""
    record = counterexample(cases, process, of, releases, afresh_s)
    result = record.result
    if releases.get(process.name, NEWEST) != NEWEST or of[0] not in WRONG:
        return record
    if result is not None and not result.values.get("rule"):
        rule = broken_rule(case_of(record), process, result)
        values = result.values | ({"rule": rule} if rule else {})
        record = record.model_copy(update={"result": result.model_copy(update={"values": values})})
    return record.model_copy(update={"known": named(failing, otherwise, passing, process)})


def minimize(
    judged: Sequence[CaseResult], cases: Mapping[str, Case], context: RunContext
) -> Iterator[CounterexampleResult]:
    """Yield a counterexample, or why there is none, for each group that has none in the bundle."""
    info, finished, executor = context.writer.info, context.writer.done, context.executor
    terms = context.terms
    full = {registry.command_of(name)[0]: name for name in context.terms.backends}
    remaining_groups = [
        (group, of_group)
        for group, of_group in to_shrink(groups(info, judged), cases)
        if not any(f"{case} on {group.backend}" in finished for case in group.cases)
    ]
    wanted, remaining_groups = remaining_groups[MINIMIZED:], remaining_groups[:MINIMIZED]
    yield from (_without(group, of_group[0], TOO_MANY) for group, of_group in wanted)
    firsts = {group.cases[0] for group, _ in remaining_groups}
    needed = judged if remaining_groups else []  # to read a million results takes long
    results = {result.id: result for result in needed if result.id in firsts}
    total = len(remaining_groups)
    while remaining_groups:
        context.progress([], f"minimizing failure {total - len(remaining_groups) + 1} of {total}")
        wave, remaining_groups = (
            remaining_groups[: executor.size],
            remaining_groups[executor.size :],
        )
        calls = []
        fatal = [pair for pair in wave if _id(pair[1][0], pair[0].backend) in terms.fatal]
        yield from (_without(group, of_group[0], REASON) for group, of_group in fatal)
        wave = [pair for pair in wave if pair not in fatal]
        for group, of_group in wave:
            result = results[group.cases[0]].backends[group.backend]
            call: list[Any] = [of_group, full[group.backend], looks(result), terms]
            if result.verdict in WRONG:  # else no rule is looked for, and to read all takes long
                failing, right, rest = nearby(group.backend, result, judged, cases, EVIDENCE)
                call += failing, rest, [case for case, _ in right]
            calls.append(tuple(call))
        for index, outcome in executor.each(small_of, calls):
            group, of_group = wave[index]
            died = isinstance(outcome, Died)
            yield _without(group, of_group[0], f"its process died: {outcome}") if died else outcome


def with_known(
    small: Sequence[CounterexampleResult],
    judged: Sequence[CaseResult],
    cases: Mapping[str, Case],
    context: RunContext,
) -> Iterator[CounterexampleResult]:
    """Yield the records; those that diverge and break no rule by name get the planted faults that
    do the same. Backends judged by an old release get none: the faults are in the newest."""
    by_release = context.terms.backends.items()
    old = {registry.command_of(name)[0] for name, r in by_release if r not in (None, NEWEST)}
    diverging = [
        s
        for s in small
        if s.result and s.result.verdict in WRONG and s.backend not in old and not s.known
    ]
    yield from (record for record in small if record not in diverging)
    if not diverging:
        return
    from sampler_parity.harness.faults.diagnosis import Seen, diagnose  # loads every fault

    accept = context.terms.accept
    calls = [
        (Seen(case_of(s), s.result, *nearby(s.backend, s.result, judged, cases), accept),)
        for s in diverging
        if s.result is not None
    ]
    known_of: dict[str, list[Known]] = {}
    for index, outcome in context.executor.each(diagnose, calls):
        known_of[diverging[index].id] = [] if isinstance(outcome, Died) else outcome
    diagnosed = [s.model_copy(update={"known": known_of[s.id]}) for s in diverging]
    by_rule = [record for record in small if record.known]  # they explain failures of their stage
    records = [*settled([*diagnosed, *by_rule], judged)][: len(diagnosed)]
    yield from with_constructed(records, judged, cases, context.executor.each)


def with_constructed(
    records: Sequence[CounterexampleResult],
    judged: Sequence[CaseResult],
    cases: Mapping[str, Case],
    run_each: Callable[[Callable[..., list[Known]], list[Any]], Iterator[tuple[int, Any]]],
) -> Iterator[CounterexampleResult]:
    """Yield the records. The first at a stage for which no planted fault is known gets the simplest
    fault by construction that explains it."""
    from sampler_parity.harness.faults.diagnosis import Seen, constructed

    stages = {(r.backend, r.result.stage) for r in records if r.result and r.known}
    for record in records:
        assert record.result is not None
        at = record.backend, record.result.stage
        if at in stages or record.smaller is None:
            yield record
            continue
        stages.add(at)
        neighbours = nearby(record.backend, record.result, judged, cases)
        failure = Seen(case_of(record), record.result, *neighbours, judged[0].accept)
        ((_, outcome),) = run_each(constructed, [(failure,)])
        faults = [] if isinstance(outcome, Died) else outcome
        yield record.model_copy(update={"known": faults})


def settled(
    records: Sequence[CounterexampleResult], judged: Sequence[CaseResult]
) -> Iterator[CounterexampleResult]:
    """Yield the records, with fewer faults, from what the groups of a stage have in common. If one
    of several faults alone explains another group, only that one is left.

    No fault is left that explains one case alone, and none if most cases of the stage fail by
    another cause: its edge cases resemble many faults. A fault of the order must explain most
    failures in chains: at temp, a reversed chain looks like one with temperature last.
    """
    from sampler_parity.harness.faults import MUTANTS  # every fault
    from sampler_parity.harness.faults.diagnosis import FEW

    orders = {mutant.name for mutant in MUTANTS.values() if mutant.of_order}
    alone = {(record.backend, record.known[0].name) for record in records if len(record.known) == 1}
    for record in records:
        decisive = [fault for fault in record.known if (record.backend, fault.name) in alone]
        mostly = _explained(records, record, judged) >= MOSTLY
        remaining = [
            fault
            for fault in ((decisive or record.known) if mostly else [])
            if _in_groups(records, record.backend, fault) >= FEW
            and (
                fault.name not in orders
                or _in_chains(records, record.backend, fault, judged) >= MOSTLY
            )
        ]
        yield record.model_copy(update={"known": remaining})


def _in_groups(records: Sequence[CounterexampleResult], name: str, fault: Known) -> int:
    """Return how many cases that were looked at a fault explains, in all groups of a backend."""
    of_backend = (
        explanation for record in records if record.backend == name for explanation in record.known
    )
    return sum(explanation.explains for explanation in of_backend if explanation.name == fault.name)


def _in_chains(
    records: Sequence[CounterexampleResult], name: str, fault: Known, judged: Sequence[CaseResult]
) -> float:
    """Return the share of a backend's failures with several samplers that a fault explains."""
    results = [
        case.backends[name]
        for case in judged
        if name in case.backends and len(set(case.samplers)) > 1
    ]
    explained = {
        looks(record.result)
        for record in records
        if record.backend == name and record.result and fault.name in (k.name for k in record.known)
    }
    wrong = [looks(r) for r in results if r.verdict in WRONG]
    return sum(of in explained for of in wrong) / max(1, len(wrong))


def _explained(
    records: Sequence[CounterexampleResult],
    record: CounterexampleResult,
    judged: Sequence[CaseResult],
) -> float:
    """Return the share of the failures at a record's stage, on its backend, that a fault
    explains."""
    assert record.result is not None
    name, stage = record.backend, record.result.stage
    results = [case.backends[name] for case in judged if name in case.backends]
    wrong = [looks(r) for r in results if r.verdict in WRONG and r.stage == stage]
    explained = {looks(r.result) for r in records if r.backend == name and r.result and r.known}
    return sum(of in explained for of in wrong) / max(1, len(wrong))


def case_of(record: CounterexampleResult) -> Case:
    assert record.smaller is not None
    required = {"id": record.case, "description": "", "why": ""}
    chains = {
        key: numbers(record.smaller[key]) for key in ("chain", "batch") & record.smaller.keys()
    }
    return case_from(required | record.smaller | chains)


def nearby(
    name: str,
    like: BackendResult,
    judged: Sequence[CaseResult],
    cases: Mapping[str, Case],
    most: int = 0,
) -> "tuple[Judged, Judged, Judged]":
    """Return cases with the sampler of a result, from small to large: those that fail as it does on
    a backend, those that pass, and those that fail there otherwise. most: of each, if not 0."""
    of, stage = looks(like), like.stage
    failing: list[tuple[Case, BackendResult]] = []
    passing: list[tuple[Case, BackendResult]] = []
    otherwise: list[tuple[Case, BackendResult]] = []
    for result in judged:
        got = result.backends.get(name)
        if got is None or stage not in result.samplers:
            continue
        if got.verdict in RIGHT:
            passing.append((cases[result.id], got))
        elif looks(got) == of:
            failing.append((cases[result.id], got))
        elif got.stage == stage and got.verdict in WRONG:
            otherwise.append((cases[result.id], got))
    limits = (most, most, most) if most else (LOOKED_AT, PASSING, LOOKED_AT)
    few, right, otherwise_failing = map(_spread, (failing, passing, otherwise), limits)
    return few, right, otherwise_failing


def _spread(pairs: list[tuple[Case, BackendResult]], most: int) -> "Judged":
    """Return at most so many pairs: half of different chains, for a rule may hold for some values
    of a parameter; and small and large ones, for what agrees on few tokens may differ on many."""
    ordered = sorted(pairs, key=lambda pair: pair[0].cost)
    cheap = [pair for pair in ordered if pair[0].cost <= AT_MOST] or ordered[:1]
    chains = [*{str(pair[0].chains): pair for pair in reversed(cheap)}.values()]
    some = [*_evenly(chains, most // 2), *_evenly(cheap, most)]
    distinct = [*{pair[0].id: pair for pair in some}.values()][:most]
    return sorted(distinct, key=lambda pair: pair[0].cost)


def _evenly(pairs: list[tuple[Case, BackendResult]], most: int) -> "Judged":
    return pairs[:: max(1, math.ceil(len(pairs) / most))]


def _without(group: Group, case: Case, reason: str) -> CounterexampleResult:
    return CounterexampleResult(
        id=_id(case, group.backend), case=case.id, backend=group.backend, said=reason
    )


def _id(case: Case, backend: str) -> str:
    return f"{case.id} on {backend}"
