"""`python -m studies.diagnosis [SET...]`: how often the fault that a diagnosis names is right.
`python -m studies.diagnosis blind FILE.toml`: what it names for each planted fault of a list.

The faults are not those that the method was made from: samplers written anew
(studies/own_samplers.py). Most have a defect that the dictionary of planted faults has under some
name, the others one that it lacks. A diagnosis is right if every fault that it names is the planted
one, or an equivalent of it for the tested cases. If the dictionary lacks the fault, no planted one
is right. A fault by construction is printed as `built`, and a person judges it. Prints each, and
the score.

Each fault of a list runs as a backend on the small quick cases of its sampler, whole chains and
cases with a vocabulary included. None of the list is among the known faults. The names are printed
with the number of cases that fail; a person judges whether they are right.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult, Known
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.failures.counterexample import counterexample, looks, to_shrink
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.catalogue import read_faults
from sampler_parity.harness.faults.diagnosis import Seen, diagnose
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.selftest import quick_cases as all_quick_cases
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.protocol.in_place import InPlace
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.run.shrinking import WRONG, case_of, nearby, settled, with_constructed
from sampler_parity.harness.suite.file import expand, find_suites
from studies import own_samplers as own
from studies.held_out import HELD_OUT, RIGHT
from studies.held_out_again import HELD_OUT_AGAIN, RIGHT_AGAIN
from studies.held_out_orders import ORDERS, SHARES, Engine, Misordered
from studies.held_out_reports import HELD_OUT_REPORTS, RIGHT_REPORTS
from studies.own_samplers import Fault

LARGEST = 2_000  # of a case's cost: the small ones, in plain Python
SECONDS = 1.0  # to make one small
FURTHER_S = 10.0  # for faults by construction

NAME = "own"


FAULTS = (
    Fault("k + 1 stay", "top_k", own.top_k(more=1), "keeps-one-more"),
    Fault("all tied with the k-th stay", "top_k", own.top_k(ties=True), "keeps-ties-of-the-last"),
    Fault(
        "k <= 0 is raised to 1", "top_k", own.top_k(least=1), "zero-means-one negative-means-one"
    ),
    Fault("the k smallest stay", "top_k", own.top_k(lowest=True), ""),
    Fault("k + 3 stay", "top_k", own.top_k(more=3), ""),
    Fault("the crossing token goes", "top_p", own.top_p(before=True), "crossing-token-dropped"),
    Fault("min_keep is ignored", "top_p", own.top_p(keep=False), "min-keep-ignored"),
    Fault("the mass must exceed p", "top_p", own.top_p(exceeds=True), "exceeds-instead-of-reaches"),
    Fault("p = 0 leaves none", "top_p", own.top_p(zero=False), "zero-keeps-none"),
    Fault("all as likely as the last stay", "top_p", own.top_p(ties=True), "ties-of-the-last-stay"),
    Fault("one more stays", "top_p", own.top_p(more=1), ""),
    Fault("a tenth less mass", "top_p", own.top_p(share=0.9), ""),
    Fault("the likeliest goes", "top_p", own.top_p(tail=True), ""),
    Fault("> in place of >=", "min_p", own.min_p(strict=True), "boundary-goes"),
    Fault(
        "min_keep is ignored",
        "min_p",
        own.min_p(keep=False),
        "min-keep-ignored min-keep-only-if-sorted",
    ),
    Fault("log2 in place of log", "min_p", own.min_p(log2=True), "binary-logarithm"),
    Fault("a tenth too strict", "min_p", own.min_p(share=1.1), ""),
    Fault("a negative logit is divided", "penalties", own.penalties(divide=True), "always-divides"),
    Fault("once per occurrence", "penalties", own.penalties(each=True), "per-occurrence"),
    Fault(
        "the first of the history", "penalties", own.penalties(first=True), "oldest-of-the-history"
    ),
    Fault(
        "frequency and presence swapped",
        "penalties",
        own.penalties(swap=True),
        "swaps-freq-and-present",
    ),
    Fault(
        "presence per occurrence",
        "penalties",
        own.penalties(presence=True),
        "present-per-occurrence",
    ),
    Fault("a window one too long", "penalties", own.penalties(longer=1), "window-one-more"),
    Fault(
        "the newest is left out", "penalties", own.penalties(late=1), "newest-left-out accepts-late"
    ),
    Fault(
        "repeat 1 switches all off",
        "penalties",
        own.penalties(by_repeat=True),
        "only-repeat-switches-on",
    ),
    Fault("the root of the penalty", "penalties", own.penalties(root=True), ""),
    Fault("the window two too long", "penalties", own.penalties(longer=2), ""),
    Fault("multiplies by the temperature", "temp", own.temp(times=True), ""),
    Fault("a tenth too warm", "temp", own.temp(more=0.1), ""),
)


def info(name: str = NAME) -> RunInfo:
    """Return a run of the samplers of this study."""
    return RunInfo(
        version="", started="", command=[], suites={}, profile="quick", seed=0,
        backends={name: BackendInfo(command=[])}, machine=machine.describe(),
    )  # fmt: skip


def quick_cases(sampler: str) -> list[Case]:
    """Return the small cases of a suite that begin with its sampler, without the rest of their
    chains.

    Cases that need a vocabulary are left out: dry names breakers by their text. An own sampler gets
    tokens alone, and a right one would fail 27 of these 114.
    """
    paths = find_suites([f"parity/{sampler}"])
    cases = [case for path in paths for case in expand(path, "quick")]
    small = [c for c in cases if c.samplers[:1] == [sampler] and c.cost <= LARGEST]
    return [
        case.model_copy(update={"chain": case.chain[:1], "expect": None})
        for case in small
        if (case.check, case.relation, case.detail, case.vocab) == ("stages", None, "stages", None)
    ]


def orders_cases() -> list[Case]:
    """Return the pairs of samplers whose order is tested."""
    return [
        case for case in expand(find_suites(["parity/chains"])[0], "quick")
        if case.id.startswith("chains/orders/")
    ]  # fmt: skip


def named(fault: Fault | Misordered) -> tuple[int, set[str]]:
    """Return how many cases a fault fails, and the planted faults named for it."""
    if isinstance(fault, Misordered):
        return named_of(Engine(fault.order), orders_cases())
    return named_of(own.Worker(fault.sampler, fault.apply), quick_cases(fault.sampler))


def named_of(worker: own.Worker, asked: list[Case]) -> tuple[int, set[str]]:
    with closing(InPlace(NAME, worker)) as backend:
        cases = {case.id: case for case in asked}
        judged = [execute(case, [backend]) for case in cases.values()]
        records = known_of(judged, minimized(judged, cases, backend), cases)
    failed = sum(not r.ok for r in judged)
    found = [r for r in records if r.result is not None]
    with Pool(1, 4) as pool:
        records = [*with_constructed(found, judged, cases, pool.each, FURTHER_S)]
    known = [fault for record in records for fault in record.known]
    for fault in known:
        print(f"       as if: {fault.fault}")
    return failed, {fault.name.split("/")[1] for fault in known}


def minimized(
    judged: list[CaseResult], cases: dict[str, Case], backend: Backend
) -> list[CounterexampleResult]:
    """Return a small case of each group whose results are wrong."""
    records = []
    for group, of_group in to_shrink(groups(info(backend.name), judged), cases):
        if group.verdict in WRONG:
            first = next(r for r in judged if r.id == group.cases[0]).backends[backend.name]
            records.append(counterexample(of_group, backend, looks(first), {}, SECONDS))
    return records


def known_of(
    judged: list[CaseResult], records: list[CounterexampleResult], cases: dict[str, Case]
) -> list[CounterexampleResult]:
    """Return the records with the planted faults that a diagnosis names."""
    named = [r.model_copy(update={"known": _of(r, judged, cases)}) for r in records]
    return [*settled(named, judged)]


def blind(path: Path) -> int:
    """Print what is named for each fault of a list, which is not among the known ones."""
    listed = read_faults(path)
    for fault in listed:
        if fault.name in MUTANTS and MUTANTS[fault.name].of == fault.of:
            del MUTANTS[fault.name]
    small = [case for case in all_quick_cases() if case.cost <= LARGEST]
    with Pool(1, len(listed)) as pool:
        for fault in listed:
            failed, names = named_as_a_user_sees(fault, small, pool)
            print(f"{fault.name} ({failed} fail): {'; or '.join(names) or '-'}", flush=True)
    return 0


def named_as_a_user_sees(fault: Mutant, small: list[Case], pool: Pool) -> tuple[int, list[str]]:
    """Return how many cases a fault fails, and the descriptions that are given for it."""
    sampler = fault.sampler if fault.sampler != "chain" else fault.stage
    cases = {case.id: case for case in small if sampler in case.samplers}
    with closing(InProcess(fault)) as backend:
        judged = [execute(case, [backend]) for case in cases.values()]
        records = minimized(judged, cases, backend)
    return sum(not r.ok for r in judged), descriptions(judged, records, cases, pool)


def descriptions(
    judged: list[CaseResult],
    records: list[CounterexampleResult],
    cases: dict[str, Case],
    pool: Pool,
) -> list[str]:
    found = [r for r in known_of(judged, records, cases) if r.result is not None]
    explained = with_constructed(found, judged, cases, pool.each)
    return [*{f"{k.name}: {k.fault}": None for record in explained for k in record.known}]


def _of(
    record: CounterexampleResult, judged: list[CaseResult], cases: dict[str, Case]
) -> list[Known]:
    if record.smaller is None or record.result is None:
        return []
    return diagnose(Seen(case_of(record), record.result, *nearby(record, judged, cases)))


def verdict(fault: Fault | Misordered, names: set[str]) -> str:
    if not names:
        return "silent" if fault.as_if else "right"
    if all(name.startswith("one-") for name in names):
        return "built"  # a fault by construction, which a person judges
    return "right" if names <= set(fault.as_if.split()) else "WRONG"


def main() -> int:
    if sys.argv[1:2] == ["blind"]:
        return blind(Path(sys.argv[2]))
    wrong = 0
    sets: dict[str, Sequence[Fault | Misordered]] = {
        "first": FAULTS, "second": HELD_OUT, "third": HELD_OUT_AGAIN, "fourth": (*ORDERS, *SHARES),
        "fifth": HELD_OUT_REPORTS,
    }  # fmt: skip
    asked = sys.argv[1:] or [*sets]
    rights = (*RIGHT, *RIGHT_AGAIN, *RIGHT_REPORTS)
    besides = {right.sampler: named(right)[1] for right in rights}
    for title in asked:
        print(f"the {title} set")
        wrong += measured(sets[title], besides)
    return int(wrong > 0)


def measured(faults: Sequence[Fault | Misordered], besides: dict[str, set[str]]) -> int:
    """Print each fault and the score; return how many are named wrong."""
    scores: dict[bool, list[str]] = {True: [], False: []}
    for fault in faults:
        failed, names = named(fault)
        names -= besides.get(fault.sampler, set())
        outcome = verdict(fault, names)
        scores[bool(fault.as_if)].append(outcome)
        print(
            f"{outcome:<6} {fault.sampler}: {fault.name} ({failed} fail): {', '.join(names) or '-'}"
        )
    for known, verdicts in scores.items():
        words = (f"{verdicts.count(word)} {word}" for word in ("right", "silent", "built", "WRONG"))
        print(f"{'' if known else 'not '}in it: {len(verdicts)} faults, {', '.join(words)}")
    return (scores[True] + scores[False]).count("WRONG")


if __name__ == "__main__":
    sys.exit(main())
