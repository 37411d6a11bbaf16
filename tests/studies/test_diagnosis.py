"""A diagnosis names the planted fault of a newly written sampler, and none for a different one."""

from contextlib import closing
from functools import cache

import pytest

from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.faults.diagnosis import MOST, Seen, diagnose
from sampler_parity.harness.inputs.logits import Literals
from sampler_parity.harness.protocol.in_place import InPlace
from studies import diagnosis
from studies import own_samplers as own
from studies.diagnosis import FAULTS, NAME, info, named_of, verdict
from studies.held_out_orders import ORDERS, SHARES, Engine, Misordered
from studies.held_out_reports import HELD_OUT_REPORTS

orders_cases, quick_cases = cache(diagnosis.orders_cases), cache(diagnosis.quick_cases)
VALUES = [3.0, 2.0, 2.0, 1.0, 0.5, 0.25, -1.0]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minimize for a tenth of the study's time. The same faults are named without minimizing."""
    monkeypatch.setattr(diagnosis, "SECONDS", 0.1)


def top_k(k: int, n: int = 7) -> StagesCase:
    return StagesCase(
        id=f"k{k}-n{n}",
        description="A case",
        why="To be diagnosed.",
        chain=[{"top_k": {"k": k}}],
        logits=Literals(values=VALUES[:n]),
    )


def on(apply: own.Apply, case: StagesCase) -> BackendResult:
    with closing(InPlace(NAME, own.Worker("top_k", apply))) as backend:
        return execute(case, [backend]).backends[backend.name]


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
    assert [fault.name for fault in diagnose(Seen(small, result, [], [], []))] == [
        "top_k/keeps-one-more"
    ]
    assert diagnose(Seen(small, result, [], passing, [])) == []


@pytest.mark.slow
@pytest.mark.parametrize("order", [ORDERS[1], ORDERS[3], ORDERS[5]], ids=lambda order: order.name)
def test_another_order_is_named_where_it_explains_most_chains(order: Misordered) -> None:
    failed, names = named_of(Engine(order.order), orders_cases())
    assert failed >= 15
    assert names == {*order.as_if.split()}  # backwards: none, though at temp it is as temp last


@pytest.mark.slow
def test_a_min_p_that_takes_a_share_of_the_sum_is_named_though_it_tells_no_sorted_flag() -> None:
    fault = SHARES[0]
    worker = own.Worker(fault.sampler, fault.apply)
    assert named_of(worker, quick_cases("min_p")[::4])[1] == {"absolute-threshold"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ("counted from 1", set[str]()),  # where it differs first, as biases that are not applied
        ("bits and nats", {"largest-entropy-in-bits"}),  # its sort shows only where it is wrong
        ("mu anew", {"restarts-mu"}),
    ],
)
def test_what_differs_behind_the_first_place_and_in_another_sort_tells_a_fault(
    of: str, expected: set[str]
) -> None:
    fault = next(fault for fault in HELD_OUT_REPORTS if fault.name == of)
    assert isinstance(fault, own.Fault)
    worker = own.Worker(fault.sampler, fault.apply)
    assert named_of(worker, quick_cases(fault.sampler))[1] == expected


def test_the_score_counts_silence_as_right_only_where_the_dictionary_lacks_the_fault() -> None:
    known = next(fault for fault in FAULTS if fault.as_if)
    unknown = next(fault for fault in FAULTS if not fault.as_if)
    assert [verdict(known, names) for names in (set(), {"x"}, {known.as_if})] == [
        "silent",
        "WRONG",
        "right",
    ]
    assert [verdict(unknown, names) for names in (set[str](), {"x"})] == ["right", "WRONG"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apply", "first"),
    [
        (own.top_p(), ""),
        (own.top_p(before=True), "at top_p: keeps one fewer than p allows"),
        (own.top_p(more=1), "at top_p: keeps one more than p allows"),
        (own.top_p(zero=False), "at top_p: keeps no token"),
        (own.top_p(ties=True), "more than p allows"),
    ],
    ids=["right", "one fewer", "one more", "none at 0", "ties stay"],
)
def test_the_first_group_of_a_wrong_top_p_is_its_fault_and_a_right_one_passes_with_ties(
    apply: own.Apply, first: str
) -> None:
    with closing(InPlace(NAME, own.Worker("top_p", apply))) as backend:
        judged = [execute(case, [backend]) for case in quick_cases("top_p")[::8]]
    accepted = [result.model_copy(update={"accept": "close"}) for result in judged]
    texts = [group.text for group in groups(info(), accepted)]
    assert texts[0].endswith(first) if first else texts == []
    assert all("diverge" in text for text in texts[:1])
