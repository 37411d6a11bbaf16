"""A diagnosis names the planted fault of a newly written sampler, and none for a different one."""

from collections.abc import Callable
from contextlib import closing

import pytest

from sampler_parity.harness.backends.reference import ReferenceInstance
from sampler_parity.harness.backends.reference import Worker as Reference
from sampler_parity.harness.bundle.records import (
    BackendResult,
    CaseResult,
    CounterexampleResult,
    Known,
)
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.counterexample import counterexample, looks, to_shrink
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.faults.diagnosis import MOST, Seen, diagnose
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.run.shrinking import WRONG, case_of, nearby, settled, with_constructed
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support import own_samplers as own
from tests.support.cases import stages
from tests.support.inside import last_result_of
from tests.support.report_bundles import run_info

LARGEST = 2_000  # of a case's cost: the small ones, in plain Python
NAME = "own"
VALUES = [3.0, 2.0, 2.0, 1.0, 0.5, 0.25, -1.0]


def quick_cases(sampler: str) -> list[Case]:
    """Return the small cases of a suite that begin with its sampler, cut to that stage.

    Cases that need a vocabulary are left out.
    """
    paths = find_suites([f"parity/{sampler}"])
    cases = [case for path in paths for case in expand(path, "quick")]
    small = [c for c in cases if c.samplers[:1] == [sampler] and c.cost <= LARGEST]
    return [
        case.model_copy(update={"chain": case.chain[:1], "expect": None})
        for case in small
        if (case.check, case.relation, case.detail, case.vocab) == ("stages", None, "stages", None)
    ]


def named_of(worker: own.Worker | Reference, asked: list[Case]) -> tuple[int, set[str]]:
    """Return how many cases an engine fails, and the planted faults named for it."""
    with closing(InPlace(NAME, worker)) as backend:
        cases = {case.id: case for case in asked}
        judged = [execute(case, [backend]) for case in cases.values()]
        small = []
        for group, of_group in to_shrink(groups(run_info(NAME), judged), cases):
            if group.verdict in WRONG:
                first = next(r for r in judged if r.id == group.cases[0]).backends[NAME]
                small.append(counterexample(of_group, backend, looks(first), {}))
    records = [r.model_copy(update={"known": known_of(r, judged, cases)}) for r in small]
    found = [r for r in settled(records, judged) if r.result is not None]
    with Pool(1, 1) as pool:
        found = [*with_constructed(found, judged, cases, pool.each)]
    names = {fault.name.split("/")[1] for record in found for fault in record.known}
    return sum(not r.ok for r in judged), names


def known_of(
    record: CounterexampleResult, judged: list[CaseResult], cases: dict[str, Case]
) -> list[Known]:
    if record.smaller is None or record.result is None:
        return []
    return diagnose(
        Seen(case_of(record), record.result, *nearby(NAME, record.result, judged, cases))
    )


class Misordered(Reference):
    """The reference's samplers, in an order of its own."""

    def __init__(self, key: Callable[[str], bool]) -> None:
        super().__init__()
        self.key = key

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        ordered = sorted(chain, key=lambda stage: self.key(next(iter(stage))))
        return super().build(ordered, n_vocab, vocab)


class Backwards(Reference):
    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        return super().build(chain[::-1], n_vocab, vocab)


def top_k(k: int, n: int = 7) -> StagesCase:
    return stages([{"top_k": {"k": k}}], VALUES[:n], id=f"k{k}-n{n}")


def on(apply: own.Apply, case: StagesCase) -> BackendResult:
    return last_result_of(case, InPlace(NAME, own.Worker("top_k", apply)))


def named(apply: own.Apply, small: StagesCase, *others: StagesCase) -> list[tuple[str, int, int]]:
    judged = [(case, on(apply, case)) for case in others]
    on_small = on(apply, small)
    failing = [(case, result) for case, result in judged if result.verdict == "diverged"]
    passing = [(case, result) for case, result in judged if result.verdict == "identical"]
    known = diagnose(Seen(small, on_small, failing, passing, []))
    assert len(known) <= MOST
    return [(fault.name, fault.explains, fault.tried) for fault in known]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        (own.top_k(more=1), [("top_k/keeps-one-more", 3, 3)]),
        (own.top_k(more=3), []),  # the small case alone would report one more
        (own.top_k(lowest=True), []),
    ],
    ids=["one more", "three more", "the smallest"],
)
def test_a_fault_is_named_where_it_does_as_was_observed_on_more_than_the_small_case(
    apply: own.Apply, expected: list[tuple[str, int, int]]
) -> None:
    others = [top_k(1), top_k(2), top_k(4), top_k(0), top_k(9)]
    assert named(apply, top_k(1, n=2), *others) == expected


def test_a_fault_that_fails_what_the_backend_passes_is_not_named() -> None:
    small = top_k(1, n=2)
    result = on(own.top_k(more=1), small)
    passing = [(top_k(k), on(own.top_k(), top_k(k))) for k in (1, 4)]
    (fault,) = diagnose(Seen(small, result, [], [], []))
    assert fault.name == "top_k/keeps-one-more"
    assert diagnose(Seen(small, result, [], passing, [])) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (lambda: Misordered(lambda name: name != "temp"), {"temperature-first"}),
        (lambda: Misordered(lambda name: name == "temp"), {"temperature-last"}),
        (Backwards, set[str]()),  # though at temp it is as temp last
    ],
    ids=["temperature before all", "temperature behind all", "backwards"],
)
def test_another_order_is_named_where_it_explains_most_chains(
    worker: Callable[[], Reference], expected: set[str]
) -> None:
    (path,) = find_suites(["parity/chains"])
    asked = [case for case in expand(path, "quick") if case.id.startswith("chains/orders/")]
    failed, names = named_of(worker(), asked)
    assert failed >= 7
    assert names == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "apply", "every", "expected"),
    [
        ("min_p", own.min_p_of_the_sum, 4, {"absolute-threshold"}),  # it reports no sorted flag
        # the first difference is that of biases that are not applied
        ("logit_bias", own.biased_from_one, 1, set[str]()),
        # its sort shows only where it is wrong
        ("temp_ext", own.temp_ext_in_bits_and_nats, 1, {"largest-entropy-in-bits"}),
        ("mirostat_v2", own.MirostatAnew(), 1, {"restarts-mu"}),
    ],
    ids=["a share of the sum", "counted from 1", "bits and nats", "mu anew"],
)
def test_what_differs_behind_the_first_place_and_in_another_sort_tells_a_fault(
    sampler: str, apply: own.Apply, every: int, expected: set[str]
) -> None:
    assert named_of(own.Worker(sampler, apply), quick_cases(sampler)[::every])[1] == expected
