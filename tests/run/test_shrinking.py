"""How many failures of a run are minimized, and within which limits."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import BackendResult, CounterexampleResult, Known
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.counterexample import TOO_MANY
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.run import shrinking as smaller
from sampler_parity.harness.run.judging import judge
from sampler_parity.harness.run.shrinking import case_of, minimize, nearby, settled
from tests.support.cases import stages
from tests.support.context import context_of
from tests.support.report_bundles import case, diverged, got, run_info

STAGES = ["top_k", "top_p", "temp"]
WRONG = [f"{stage}-{i}" for stage in STAGES for i in range(200)]


def suite_case(name: str) -> StagesCase:
    return stages([{"greedy": {}}], [0.0, 1.0], id=name)


class Counting:
    """An executor of two processes that answers without them, and counts what it was asked."""

    size = 2

    def __init__(self) -> None:
        self.waves: list[list[tuple[Any, ...]]] = []

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        self.waves.append(list(calls))
        for place, ((first, *_), name, *_rest) in enumerate(calls):
            made = CounterexampleResult(id=f"{first.id} on {name}", case=first.id, backend=name)
            yield place, Died("signal SIGBUS") if first.id.startswith("temp") else made


def made(folder: Path, done: Sequence[str] = ()) -> tuple[Counting, list[CounterexampleResult]]:
    """Minimize 600 cases that all fail, at one of three stages."""
    executor = Counting()
    at = {name: {"null": diverged(stage=name.partition("-")[0])} for name in WRONG}
    results = [case(name, backends, samplers=STAGES) for name, backends in at.items()]
    writer = create(folder / "b", run_info("null"))
    writer.done.update(done)
    context = context_of(writer, ["null"], executor)
    records = minimize(results, {name: suite_case(name) for name in WRONG}, context)
    return executor, list(records)


@pytest.mark.slow
def test_of_hundreds_of_failures_one_of_each_group_is_made_small(tmp_path: Path) -> None:
    executor, records = made(tmp_path)
    assert [len(wave) for wave in executor.waves] == [2, 1]
    assert len(records) == len({record.case.partition("-")[0] for record in records}) == 3
    assert all(
        len(evidence) <= 16 for wave in executor.waves for call in wave for evidence in call[4:]
    )


def test_of_many_groups_the_worst_are_minimized_and_the_others_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smaller, "MINIMIZED", 1)
    executor, records = made(tmp_path)
    assert [len(wave) for wave in executor.waves] == [1]
    assert [record.said for record in records] == [TOO_MANY] * 2 + [records[-1].said]


def test_what_a_bundle_has_is_not_minimized_again(tmp_path: Path) -> None:
    _, records = made(tmp_path, ["top_k-7 on null", "temp-0 on null"])
    assert [record.case.partition("-")[0] for record in records] == ["top_p"]


@pytest.mark.slow
def test_a_process_that_dies_of_it_is_reported(tmp_path: Path) -> None:
    _, records = made(tmp_path)
    (dead,) = (record for record in records if record.case.startswith("temp"))
    assert (dead.smaller, dead.said) == (None, "its process died: signal SIGBUS")


def known_in(name: str, result: BackendResult, *faults: str) -> CounterexampleResult:
    known = [Known(name=fault, fault=fault, explains=2, tried=2) for fault in faults]
    return CounterexampleResult(
        id=f"{name} on null", case=name, backend="null", known=known, result=result
    )


ONE, MANY, ORDER = (
    diverged(what=what, values={"survivors": {"got": got, "expected": 2}, "others": 0})
    for what, got in (("survivors", 3), ("survivors", 1), ("ids", 2))
)


def names_of(counts: dict[str, int], *records: CounterexampleResult) -> list[list[str]]:
    """Return the faults that remain if as many cases fail as each record counts."""
    judged = [
        case(f"{record.case}-{i}", {"null": record.result})
        for record in records
        if record.result is not None
        for i in range(counts[record.case])
    ]
    return [[known.name for known in record.known] for record in settled(records, judged)]


def test_of_faults_that_a_small_group_cannot_tell_apart_the_one_of_a_larger_is_named() -> None:
    records = [known_in("x", ONE, "half"), known_in("y", MANY, "double", "half")]
    assert names_of({"x": 9, "y": 1}, *records) == [["half"], ["half"]]
    assert names_of({"x": 9, "y": 1}, known_in("x", ONE, "a"), records[1])[1] == ["double", "half"]


@pytest.mark.parametrize(("more", "names"), [(5, ["half"]), (6, [])])
def test_nothing_is_named_where_most_cases_of_the_stage_fail_otherwise(
    more: int, names: list[str]
) -> None:
    records = [known_in("x", ONE, "half"), known_in("y", MANY)]
    assert names_of({"x": 5, "y": more}, *records)[0] == names


def test_a_small_case_or_batch_with_a_ban_can_be_asked_again() -> None:
    chain = [{"logit_bias": {"logit_bias": [[0, "-inf"]]}}]
    steps = [{"before": [["join", 0]], "sample": [{"at": 0, "row": 0}]}]
    logits: dict[str, Any] = {"families": ["normal"], "n": 2, "seed": 0}
    of_batch = {"batch": {"sequences": [{"chain": chain}], "steps": steps}, "logits": logits}
    for small in ({"chain": chain, "logits": {"rows": [["-inf", 1.0]]}}, of_batch):
        record = CounterexampleResult(id="a on b", case="a", backend="b", smaller=small)
        of: Any = case_of(record)
        (stages,) = of.chains
        assert stages == [{"logit_bias": {"logit_bias": [[0, float("-inf")]]}}]


@pytest.mark.slow
def test_a_fault_is_compared_on_more_cases_that_pass_than_fail() -> None:
    """A fault that shows in few of the passing cases is not the backend's either."""
    failing = [case(f"bad-{i}", {"b": diverged()}) for i in range(500)]
    passing = [case(f"good-{i}", {"b": got()}) for i in range(500)]
    cases = {one.id: suite_case(one.id) for one in [*failing, *passing]}
    looked_at = nearby("b", diverged(), [*failing, *passing], cases)
    assert [len(pairs) for pairs in looked_at] == [32, 500, 0]


def test_a_fault_is_compared_on_a_rare_value_of_a_parameter() -> None:
    """Two of sixty failing cases have a negative temperature: in a step of four both are missed."""
    temps = [0.0] * 41 + [-1.0] + [0.0] * 15 + [-2.0] + [0.0] * 2
    cases = {
        f"{i}": stages([{"temp": {"temp": temp}}], [0.0] * (i + 1), id=f"{i}")
        for i, temp in enumerate(temps)
    }
    failing = [case(id, {"b": diverged(stage="temp")}, samplers=["temp"]) for id in cases]
    few, _, _ = nearby("b", diverged(stage="temp"), failing, cases, 16)
    tried = {of.chain[0]["temp"]["temp"] for of, _ in few if isinstance(of, StagesCase)}
    assert tried == {0, -1, -2}
    assert len(few) <= 16
    sizes = [of.cost for of, _ in few]
    assert sizes == sorted(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("fail_fast", "ran"), [(0, 600), (1, 10), (11, 110), (111, 210)])
def test_a_run_stops_at_so_many_failures_and_says_what_it_left(
    tmp_path: Path, fail_fast: int, ran: int
) -> None:
    class Failing(Counting):
        def each(
            self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
        ) -> Iterator[tuple[int, Any]]:
            for place, (portion, *_) in enumerate(calls):
                yield place, [case(c.id, {"null": got("crashed")}) for c in portion]

    writer = create(tmp_path / "b", run_info("null"))
    items = [CheckItem("s", suite_case(name)) for name in itertools.islice(WRONG, 600)]
    done = judge(items, context_of(writer, ["null"], Failing()), fail_fast)
    assert len(done) == ran
