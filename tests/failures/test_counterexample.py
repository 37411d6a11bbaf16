"""Which failing cases are minimized, and to what."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import CounterexampleResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.arrays import MOST_ARRAYS
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures import counterexample as module
from sampler_parity.harness.failures.counterexample import (
    BY_CHANCE,
    SILENT,
    TRIED,
    Looks,
    counterexample,
    looks,
    to_shrink,
)
from sampler_parity.harness.failures.differing import DifferenceKind
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.process import BackendProcess
from tests.support.cases import stages
from tests.support.inside import result_of
from tests.support.report_bundles import case, diverged, got, run_info

NAME = "mutant/top_k/keeps-one-more"


def wrong(n: int, k: int = 4) -> StagesCase:
    chain: list[dict[str, Any]] = [{"temp": {"temp": 0.5}}, {"top_k": {"k": k}}, {"greedy": {}}]
    return stages(chain, {"family": "normal", "n": n}, id=f"wrong-{n}", steps=2)


ALL_STAY = wrong(4, k=4)


def small_of(failing: StagesCase, *cases: StagesCase) -> CounterexampleResult:
    """Minimize the first of these cases that looks like the failing one; without any, that one."""
    with closing(InProcess("top_k/keeps-one-more")) as backend:
        of = looks(result_of(failing, backend))
        return counterexample(cases or (failing,), backend, of, {})


def test_a_small_case_fails_as_its_group_does_and_has_its_own_values() -> None:
    record = small_of(wrong(10))
    assert (record.id, record.case, record.backend) == (f"wrong-10 on {NAME}", "wrong-10", NAME)
    assert record.smaller is not None
    assert record.result is not None
    assert record.smaller["chain"] == [{"top_k": {"k": 1}}]
    (row,) = record.smaller["logits"]["rows"]
    assert len(row) == 2
    assert (record.result.verdict, record.result.stage) == ("diverged", "top_k")
    assert record.result.values == {"survivors": {"got": 2, "expected": 1}}
    assert len(record.got) == 2
    assert record.got[:1] == record.expected


def test_a_case_that_does_not_fail_afresh_leaves_its_place_to_the_next() -> None:
    assert small_of(wrong(10), ALL_STAY, wrong(10)).case == "wrong-10"


def test_what_does_not_fail_afresh_depends_on_chance() -> None:
    record = small_of(wrong(10), ALL_STAY)
    assert (record.smaller, record.said) == (None, BY_CHANCE)


def test_a_fresh_process_that_loads_at_its_first_request_has_the_time_of_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = BackendProcess("mine", ["no-such-program"], timeout_s=3.0)
    limits: list[float] = []

    def slow(case: StagesCase, asked: BackendProcess, releases: dict[str, str]) -> Looks:
        limits.append(asked.timeout_s)
        late: Looks = ("timeout", "", DifferenceKind("said", "no reply within N s"))
        return of if asked.timeout_s > 10 else late

    of: Looks = ("diverged", "top_k", DifferenceKind("more"))
    monkeypatch.setattr(module, "_looks_on", slow)
    monkeypatch.setattr(module, "_minimized", lambda record, *rest: record)
    assert counterexample([wrong(10)], backend, of, {}, 60.0).said == ""
    assert counterexample([wrong(10)], backend, of, {}, 5.0).said == SILENT
    assert (limits, backend.timeout_s) == ([60.0, 5.0], 3.0)


def test_one_case_of_each_group_is_minimized_and_its_cheapest_are_tried_first() -> None:
    sizes = [500, 20, 300, 10, 400]
    cases: dict[str, Case] = {f"wrong-{n}": wrong(n) for n in sizes}
    cases |= {"c": wrong(5), "r": wrong(6)}
    results = [case(f"wrong-{n}", {"mine": diverged()}) for n in sizes]
    results += [case("c", {"mine": got("crashed")}), case("r", {"mine": got("close", what="p")})]
    chosen = to_shrink(groups(run_info("mine"), results), cases)
    assert [[c.id for c in of_group] for _, of_group in chosen] == [
        ["wrong-10", "wrong-20", "wrong-300"], ["wrong-6"],
    ]  # fmt: skip
    assert all(len(of_group) <= TRIED for _, of_group in chosen)


def test_the_arrays_of_so_many_cases_of_a_stage_are_kept_and_no_more(tmp_path: Path) -> None:
    with closing(InProcess("top_k/keeps-one-more")) as backend:
        for n in range(10, 10 + MOST_ARRAYS + 5):
            assert result_of(wrong(n), backend, tmp_path).verdict == "diverged"
    assert len(list(tmp_path.iterdir())) == MOST_ARRAYS
