"""Planted faults: every one is caught, also where ties are accepted; the self-test can fail."""

import dataclasses
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.worker import Worker
from sampler_parity.harness.inputs.logits import Literals
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.maintenance.selftest import results, selftest
from sampler_parity.maintenance.selftest.adapters import ADAPTERS
from sampler_parity.maintenance.selftest.parts import PARTS
from sampler_parity.reference import SAMPLERS, Candidates
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.top_p import TopP
from tests.support.examples import one_in

SORTING = {name for name, row in ROWS.items() if row.sorts}

# Another order of equal logits, and nothing else: what `tied` is there to accept.
ANOTHER_SORT = {"top_p/always-sorts-in-place", "top_k/zeros-in-order"}

AT_TIES = [
    "top_k/keeps-ties-of-the-last",
    "top_k/ties-that-do-not-fit-go",
    "top_p/ties-of-the-last-stay",
    "top_p/ties-that-do-not-fit-go",
    "top_p/lower-one-among-ties",
    "greedy/last-of-equal-wins",
]
REMOVED = {"softmax", "tail_free"}  # not in v0.5.0

TOP_P = StagesCase(
    id="top_p/literal",
    description="of 1/2, 1/4, 1/8, 1/8 the first two reach 3/5",
    why="a case that every test here can check by hand",
    chain=[{"top_p": {"p": 0.6}}],
    logits=Literals(probs=[0.5, 0.25, 0.125, 0.125]),
)


@pytest.fixture
def in_process(request: pytest.FixtureRequest) -> Iterator[InProcess]:
    with closing(InProcess(request.param)) as backend:
        yield backend


def test_mutants_cover_every_sampler_three_times() -> None:
    counts = Counter(mutant.sampler for mutant in MUTANTS.values())
    assert set(counts) == set(ALL_SAMPLERS) - REMOVED | {"chain", "batch"}
    assert min(counts.values()) >= 3


def test_mutants_say_what_is_wrong_in_a_line_of_their_own() -> None:
    faults = [(mutant.sampler, mutant.fault) for mutant in MUTANTS.values()]
    assert all(0 < len(fault) <= 100 and "\n" not in fault for _, fault in faults)
    assert len(set(faults)) == len(faults)


def test_mutants_have_a_stage_that_exists() -> None:
    assert {mutant.stage for mutant in MUTANTS.values()} <= set(ALL_SAMPLERS) | {
        *("crashed", "relation", "token")
    }


@pytest.mark.parametrize("in_process", one_in(3, MUTANTS), indirect=True)
@pytest.mark.slow
def test_mutant_is_caught_at_its_stage(in_process: InProcess) -> None:
    mutant = in_process.worker.mutant
    result = selftest.try_mutant(mutant, in_process)
    assert (result.name, result.caught, result.stage) == (mutant.name, True, mutant.stage)
    assert result.case.startswith(mutant.case), "not by the case that names it"


@pytest.mark.parametrize("in_process", AT_TIES, indirect=True)
def test_a_fault_that_shows_only_at_ties_is_caught_where_ties_are_accepted(
    in_process: InProcess,
) -> None:
    mutant = in_process.worker.mutant
    result = selftest.try_mutant(mutant, in_process, accept="tied")
    assert (result.caught, result.stage) == (True, mutant.stage)
    assert result.verdict in ("diverged", "boundary")
    assert result.case.startswith(mutant.case), "not by the case that names it"


@pytest.mark.parametrize("in_process", ["top_p/always-sorts-in-place"], indirect=True)
def test_another_sort_is_caught_as_a_tie_where_ties_are_not_accepted(in_process: InProcess) -> None:
    result = selftest.try_mutant(in_process.worker.mutant, in_process)
    assert (result.caught, result.verdict, result.stage) == (True, "tied", "top_p")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "in_process",
    [name for name, m in MUTANTS.items() if m.sampler in {*SORTING, "dist"}],  # dist: by its draws
    indirect=True,
)
def test_all_that_was_caught_is_caught_where_ties_are_accepted_but_another_sort(
    in_process: InProcess,
) -> None:
    mutant = in_process.worker.mutant
    result = selftest.try_mutant(mutant, in_process, accept="tied")
    assert result.caught == (mutant.name not in ANOTHER_SORT)


@pytest.mark.parametrize("in_process", ["top_p/crossing-token-dropped"], indirect=True)
@pytest.mark.slow
def test_mutant_in_this_process_gets_the_verdict_of_a_real_one(in_process: InProcess) -> None:
    name = in_process.worker.mutant.name
    command = [sys.executable, "-m", "sampler_parity.harness.backends.worker", "mutant", name]
    with closing(BackendProcess(f"mutant/{name}", command)) as process:
        result = execute(TOP_P, [in_process]).backends[f"mutant/{name}"]
        real = execute(TOP_P, [process]).backends[f"mutant/{name}"]
    assert (real.verdict, real.stage, real.what) == ("diverged", "top_p", "survivors")
    assert real.values == {"survivors": {"got": 1, "expected": 2}}
    assert result.values == real.values


def test_clone_of_a_mutant_is_a_mutant() -> None:
    made = Worker("top_p/crossing-token-dropped").build([{"top_p": {"p": 0.6}}], 4, None)
    cand = Candidates.from_logits(Literals(probs=[0.5, 0.25, 0.125, 0.125]).row(0))
    made.clone().apply(None, cand)
    assert cand.ids.tolist() == [0]


class Right(TopP):
    """Nothing is wrong."""


class Hangs(Greedy):
    """It never ends."""

    def apply(self, cand: Candidates) -> None:
        while True:
            pass


class Misplaced(TopP):
    """It selects a token, too, which shows at its own stage."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.selected = 0


def report_of(*mutants: results.MutantResult) -> results.SelfTestReport:
    return results.SelfTestReport(
        mutants=[*mutants], adapters=[], baseline=results.BaselineResult(), seconds=0
    )


@pytest.mark.parametrize(
    ("make", "stage", "caught"),
    [(Right, "", False), (Misplaced, "", True), (Misplaced, "top_k", False)],
    ids=["right", "wrong", "wrong-at-another-stage"],
)
def test_selftest_fails_for_what_is_not_caught_at_its_stage(
    make: type[TopP], stage: str, caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MUTANTS, "top_p/planted", Mutant("top_p/planted", make, at=stage))
    monkeypatch.setattr(selftest, "_cases_of", lambda path: [TOP_P] if path.stem == "top_p" else [])
    with closing(InProcess("top_p/planted")) as backend:
        result = selftest.try_mutant(MUTANTS["top_p/planted"], backend)
    report = report_of(result)
    assert (result.caught, report.passed) == (caught, caught)
    assert report.survivors == ([] if caught else ["top_p/planted"])
    assert result.elsewhere == (stage == "top_k")


@pytest.mark.slow
def test_mutant_that_never_ends_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, "greedy/hangs", Mutant("greedy/hangs", Hangs, at="timeout"))
    case = TOP_P.model_copy(update={"chain": [{"greedy": {}}]})
    with closing(InProcess("greedy/hangs", timeout_s=0.2)) as backend:
        result = selftest.caught_by(MUTANTS["greedy/hangs"], case, backend)
    assert (result.verdict, result.caught) == ("timeout", True)


def test_selftest_of_nothing_does_not_pass() -> None:
    assert not report_of().passed


@pytest.fixture(scope="module")
def some_cases() -> list[Case]:
    """Return every 40th case of two suites; the whole self-test takes all cases."""
    return [
        c for path in find_suites(["parity/chains", "parity/state"]) for c in expand(path, "quick")
    ][::40]


@pytest.mark.slow
def test_reference_against_itself_gives_no_alarm(some_cases: list[Case]) -> None:
    assert selftest.false_alarms(some_cases) == []


@pytest.mark.slow
def test_native_in_two_processes_gives_no_alarm(some_cases: list[Case]) -> None:
    native = [c for c in some_cases if set(c.samplers) <= set(SAMPLERS)]
    cases = [c for c in native if c.required("a") == ["identical"]]
    assert selftest.false_alarms(cases, ("llama.cpp",)) == []
    assert selftest.false_alarms(cases, ("llama.cpp",)) == []


@pytest.mark.slow
def test_baseline_raises_an_alarm_for_a_wrong_reference() -> None:
    worker = ("mutant", "top_p/crossing-token-dropped")
    assert selftest.false_alarms([TOP_P], worker) == ["top_p/literal"]


OF_THE_NIGHT = (
    "asserts", "garbage", "replies-twice", "beyond-scratch", "deletes-scratch-dies", "zeros",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        *("dies", "hangs", "truncates-scratch", "hello-dies", "lacks-a-sampler"),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in OF_THE_NIGHT),
    ],
)
@pytest.mark.slow
def test_broken_adapter_costs_one_case_its_result(name: str) -> None:
    adapter = ADAPTERS[f"adapter/{name}"]
    result = selftest.try_adapter(adapter)
    others = adapter.verdict if adapter.on_hello else "identical"
    assert result.verdicts == [others, adapter.verdict, others]
    assert result.starts == adapter.starts
    assert result.caught


@pytest.mark.slow
def test_right_adapter_is_not_taken_for_a_broken_one() -> None:
    right = ADAPTERS["adapter/dies"]
    lives = type(right)("rejects", "claims to die but refuses", right.act)
    assert not selftest.try_adapter(lives).caught


@pytest.mark.parametrize(
    ("name", "mutants", "parts", "adapters"),
    [
        ("greedy/nan-wins", ["greedy/nan-wins"], [], []),
        ("greedy/", [name for name in MUTANTS if name.startswith("greedy/")], [], []),
        ("token_trie/key-without-model", [], ["token_trie/key-without-model"], []),
        ("adapter/dies", [], [], ["adapter/dies"]),
    ],
    ids=["one", "sampler", "part", "adapter"],
)
def test_names_choose_mutants_parts_and_adapters(
    name: str, mutants: list[str], parts: list[str], adapters: list[str]
) -> None:
    assert selftest.chosen([name]) == (mutants, parts, adapters, {})


@functools.cache
def checked(check: Callable[[Any], str], part: Any) -> str:
    """Check a part once: the right one is that of several faults."""
    return check(part)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_part_is_caught_and_the_right_one_is_not(name: str) -> None:
    part = dataclasses.replace(PARTS[name], check=functools.partial(checked, PARTS[name].check))
    assert selftest.try_part(part).caught
    assert 0 < len(part.fault) <= 100
    harmless = dataclasses.replace(part, make=part.right)
    assert not selftest.try_part(harmless).caught
    wrong = dataclasses.replace(part, right=part.make)
    assert not selftest.try_part(wrong).caught


def test_unknown_name_is_an_input_error() -> None:
    with pytest.raises(InputError, match="mutant 'top_q': unknown"):
        selftest.chosen(["top_q"])


@pytest.mark.slow
@pytest.mark.parametrize("thin", [False, True], ids=["two-cases", "one-case"])
def test_a_mutant_that_one_case_alone_catches_is_printed_as_thin(
    thin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, printed, cases_of = "ignore_eos/last-id", list[str](), selftest._cases_of
    if thin:
        firsts = lambda path: [c for c in cases_of(path) if not c.id.endswith("-again")]  # noqa: E731
        monkeypatch.setattr(selftest, "_cases_of", firsts)
    with closing(InProcess(name)) as backend:
        found = selftest.try_mutant(MUTANTS[name], backend, catches=2)
    # In this process: a process of the pool may have been forked before.
    monkeypatch.setattr(selftest, "_run_mutants", lambda *_: {name: found})
    (mutant,) = selftest.run_selftest([name], 1, printed.append).mutants
    assert mutant.case
    assert mutant.again != mutant.case
    assert (mutant.again == "") is thin
    assert any(line.startswith(f"thin     {name} ") for line in printed) is thin


@pytest.mark.slow
def test_run_selftest_reports_each_fault_and_the_score() -> None:
    printed: list[str] = []
    report = selftest.run_selftest(["top_k/zero-means-one", "adapter/rejects"], 1, printed.append)
    assert report.passed
    assert printed[-5] == "mutants  1/1 caught, each at its stage"
    assert printed[-4] == "parts    0/0 caught, the right ones let through"
    assert printed[-3] == "adapters 1/1 caught, other cases untouched"
    assert [m.verdict for m in report.mutants] == ["diverged"]
