"""`python -m studies.diagnosis [SET...]`: how often the fault that a diagnosis names is right.

The faults are not those that the method was made from: samplers written anew
(studies/own_samplers.py). Most have a defect that the dictionary of planted faults has under some
name, the others one that it lacks. A diagnosis is right if every fault that it names is the planted
one, or an equivalent of it for the tested cases. If the dictionary lacks the fault, only an empty
diagnosis is right. Prints each, and the score.
"""

import sys
from collections.abc import Sequence

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult, Known
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.failures.counterexample import counterexample, looks, to_shrink
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.faults.diagnosis import diagnose
from sampler_parity.harness.protocol.in_place import InPlace
from sampler_parity.harness.run.shrinking import WRONG, case_of, nearby, settled
from sampler_parity.harness.suite.file import expand, find_suites
from studies import own_samplers as own
from studies.held_out import HELD_OUT, RIGHT
from studies.held_out_again import HELD_OUT_AGAIN, RIGHT_AGAIN
from studies.held_out_orders import ORDERS, SHARES, Engine, Misordered
from studies.held_out_reports import HELD_OUT_REPORTS, RIGHT_REPORTS
from studies.own_samplers import Fault

LARGEST = 2_000  # of a case's cost: the small ones, in plain Python
SECONDS = 1.0  # to make one small

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


def info() -> RunInfo:
    """Return a run of the samplers of this study."""
    return RunInfo(
        version="", started="", command=[], suites={}, profile="quick", seed=0,
        backends={NAME: BackendInfo(command=[])}, machine=machine.describe(),
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
    backend = InPlace(NAME, worker)
    cases = {case.id: case for case in asked}
    judged = [execute(case, [backend]) for case in cases.values()]
    records = []
    for group, of_group in to_shrink(groups(info(), judged), cases):
        if group.verdict in WRONG:
            first = next(r for r in judged if r.id == group.cases[0]).backends[backend.name]
            record = counterexample(of_group, backend, looks(first), {}, SECONDS)
            records.append(record.model_copy(update={"known": _of(record, judged, cases)}))
    backend.close()
    names = {
        known.name.split("/")[1] for record in settled(records, judged) for known in record.known
    }
    return sum(not r.ok for r in judged), names


def _of(
    record: CounterexampleResult, judged: list[CaseResult], cases: dict[str, Case]
) -> list[Known]:
    if record.smaller is None or record.result is None:
        return []
    return diagnose(case_of(record), record.result, *nearby(record, judged, cases))


def verdict(fault: Fault | Misordered, names: set[str]) -> str:
    if not names:
        return "silent" if fault.as_if else "right"
    return "right" if names <= set(fault.as_if.split()) else "WRONG"


def main() -> int:
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
        words = (f"{verdicts.count(word)} {word}" for word in ("right", "silent", "WRONG"))
        print(f"{'' if known else 'not '}in it: {len(verdicts)} faults, {', '.join(words)}")
    return (scores[True] + scores[False]).count("WRONG")


if __name__ == "__main__":
    sys.exit(main())
