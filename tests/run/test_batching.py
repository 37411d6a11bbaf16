"""Cases that are asked for at once have the records of cases that are asked for one by one."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.reference_cache import Answers
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run import batching as at_once
from sampler_parity.harness.run import started
from sampler_parity.harness.run.batching import AtOnce
from sampler_parity.harness.run.judging import portions, run_portion
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support import many_adapter
from tests.support.timeless import timeless

N = 6
SUITES = ["top_p", "dry", "penalties", "xtc", "non_finite"]


def case_of(t: int) -> StagesCase:
    logits = GeneratedLogits(family="normal", n=16, seed=t)
    chain: ChainSpec = [{"temp": {"temp": t}}, {"greedy": {}}]
    return StagesCase(id=f"t{t}", description="", why="", chain=chain, logits=logits)


class Adapters:
    """Runs a portion on adapters with faults, with the answers of an earlier run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.items = [CheckItem("small", case_of(t)) for t in range(1, N + 1)]
        self.answers = Answers(Cache(folder / "kept.sqlite"), "")
        self.answers.is_drawn = lambda case: False  # type: ignore[method-assign]

    def run(
        self,
        *faults: str,
        items: Sequence[CheckItem] = (),
        release: str | None = None,
        **terms: Any,
    ) -> list[CaseResult]:
        words = ["-I", "-S", many_adapter.__file__, *faults]
        name = f"mine={shlex.join([sys.executable, *words])}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(started, "_started", {})
            patch.setenv("SAMPLER_PARITY_LOG", str(self.log))
            self.log.write_text("")
            on = Terms({name: release}, answers=self.answers, **terms)
            try:
                return run_portion(items or self.items, on, None)
            finally:
                for backend in started._started.values():
                    backend.close()

    @property
    def asked(self) -> list[list[float]]:
        """The temperatures of the runs of each request."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Adapters:
    made = Adapters(tmp_path_factory.mktemp("adapters"))
    assert verdicts(made.run()) == ["identical"] * N
    assert made.asked == ALONE  # no answer is known yet
    first, second = (case_of(t).logits.row(0).argmax() for t in (1, 2))
    assert first != second  # so that swapped replies differ
    return made


EVERY = [float(t) for t in range(1, N + 1)]
ALONE = [[t] for t in EVERY]


def verdicts(records: list[CaseResult]) -> list[str]:
    return [record.backends["mine"].verdict for record in records]


def details(records: list[CaseResult]) -> list[str]:
    return [record.backends["mine"].detail for record in records]


def comparable(records: Iterable[CaseResult]) -> list[Any]:
    """Return records without their times and digests."""
    return [timeless(record.model_dump(exclude={"digests"})) for record in records]


@pytest.mark.slow
def test_all_cases_with_an_answer_are_one_request(adapters: Adapters) -> None:
    records = adapters.run()
    assert adapters.asked == [EVERY]
    assert verdicts(records) == ["identical"] * N
    assert all(record.backends["mine"].wall_s > 0 for record in records)


def test_an_adapter_without_the_capability_is_asked_one_by_one(adapters: Adapters) -> None:
    assert verdicts(adapters.run("many")) == ["identical"] * N
    assert adapters.asked == ALONE


@pytest.mark.slow
def test_a_request_holds_no_more_than_its_bytes(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = 16 * 12 * 3
    for size, groups in [
        (3 * one + 1, [EVERY[:3], EVERY[3:]]),
        (5 * one, [EVERY[:5], EVERY[5:]]),
        (2 * one - 1, ALONE),
    ]:
        monkeypatch.setattr("sampler_parity.harness.run.batching._BYTES", size)
        assert verdicts(adapters.run()) == ["identical"] * N
        assert adapters.asked == groups


@pytest.mark.parametrize(("fault", "stage"), [("swaps", "token"), ("misplaces", "temp")])
def test_a_wrong_reply_counts_though_the_case_alone_would_be_right(
    fault: str, stage: str, adapters: Adapters
) -> None:
    records = adapters.run(fault)
    assert adapters.asked == [EVERY]
    assert verdicts(records) == ["diverged"] * 2 + ["identical"] * 4
    places = [(record.backends["mine"].stage, record.backends["mine"].step) for record in records]
    assert places == [(stage, 0)] * 2 + [("", None)] * 4


def test_cases_are_asked_for_alone_if_many_are_refused(adapters: Adapters) -> None:
    records = adapters.run("refuses-many")
    assert adapters.asked == [EVERY, *ALONE]
    assert verdicts(records) == ["identical"] * N


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        (["drops"], "5 replies to 6 runs"),
        (["dies-of-many"], "exit status 4"),
        (["swaps", "table"], "a stage lies at byte 64, before out, 704"),
    ],
    ids=" ".join,
)
def test_a_crash_of_many_that_no_case_alone_repeats_is_not_lost(
    faults: list[str], problem: str, adapters: Adapters
) -> None:
    records = adapters.run(*faults)
    assert verdicts(records) == ["crashed"] + ["identical"] * 5
    assert details(records)[0] == f"asked for 6 cases at once: {problem}"
    assert adapters.asked == [EVERY, *ALONE]


@pytest.mark.slow
def test_a_case_that_hangs_is_the_only_one_blamed_and_then_no_more_are_asked_at_once(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = 3 * 16 * 12 * 3
    monkeypatch.setattr("sampler_parity.harness.run.batching._BYTES", half)
    records = adapters.run("hangs=2", timeout_s=0.5)
    assert verdicts(records) == ["identical", "timeout"] + ["identical"] * 4
    assert adapters.asked == [EVERY[:3], *ALONE]


@pytest.mark.slow
def test_a_timeout_of_many_alone_blames_nobody(adapters: Adapters) -> None:
    records = adapters.run("hangs-at-many", timeout_s=0.5)
    assert verdicts(records) == ["identical"] * N
    assert adapters.asked == [EVERY, *ALONE]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("repeats", "more than one line"),
        ("ends", "ended after its reply: exit status 5"),
    ],
)
def test_a_fault_after_the_reply_to_many_is_blamed_on_the_first(
    fault: str, problem: str, adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampler_parity.harness.checks.late_failures.SILENCE_S", 5.0)
    records = adapters.run(fault)
    assert verdicts(records) == ["crashed"] + ["identical"] * 5
    assert details(records)[0].startswith(problem)


def test_a_fatal_case_is_in_no_request(adapters: Adapters) -> None:
    fatal = {adapters.items[1].id: {"mine"}}
    records = adapters.run(fatal=fatal)
    assert verdicts(records) == ["identical", "crashed"] + ["identical"] * 4
    assert adapters.asked == [[1.0, 3.0, 4.0, 5.0, 6.0]]


def test_a_repeated_case_is_asked_alone_from_the_second_time_on(adapters: Adapters) -> None:
    records = adapters.run(repeat=3)
    assert adapters.asked == [EVERY, *([t] for t in EVERY for _ in range(2))]
    assert [record.backends["mine"].asked for record in records] == [{"identical": 3}] * 6


def test_a_case_drawn_for_the_spot_check_is_asked_alone(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = adapters.items[2].id
    monkeypatch.setattr(adapters.answers, "is_drawn", lambda case: case == drawn)
    adapters.run()
    assert adapters.asked == [[1.0, 2.0, 4.0, 5.0, 6.0], [3.0]]


def test_a_backend_judged_by_a_release_is_asked_one_by_one(adapters: Adapters) -> None:
    adapters.run(release="v0.5.0")
    assert adapters.asked == ALONE


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.slow
def test_records_of_a_suite_are_the_same_at_once_and_one_by_one(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = expand(find_suites([f"parity/{suite}"])[0], "quick")
    items = [CheckItem(suite, case) for case in cases]
    answers = Answers(Cache(tmp_path / "kept.sqlite"), "")
    terms = Terms(dict.fromkeys(["llama.cpp", "reference"]), answers=answers)

    def records() -> list[Any]:
        done = [run_portion(portion, terms, None) for portion in portions(items)]
        return comparable(record for some in done for record in some)

    first, counted = records(), Counter[str]()

    def many(backend: BackendProcess, runs: Sequence[Any]) -> Any:
        counted[backend.name] += len(runs)
        return real(backend, runs)

    real = client.many
    monkeypatch.setattr(at_once, "many", many)
    together = records()
    monkeypatch.setattr(AtOnce, "ask", lambda *_: None)
    assert together == records() == first
    given = [case for case in cases if case.check == "stages" and not case.relation]
    assert len(given) * 0.9 < counted["reference"] == counted["llama.cpp"] <= len(given)


@pytest.mark.slow
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    ways=st.lists(st.sampled_from(["crashes", "refuses", "errs"]), unique=True),
    at=st.permutations(EVERY),
    order=st.permutations(range(N)),
    n=st.integers(1, N),
    of_many=st.sampled_from([[], ["refuses-many"]]),
)
def test_faults_have_the_same_records_at_once_and_one_by_one(
    ways: list[str],
    at: list[float],
    order: list[int],
    n: int,
    of_many: list[str],
    adapters: Adapters,
) -> None:
    faults = [f"{way}={t:g}" for way, t in zip(ways, at, strict=False)]
    items = [adapters.items[i] for i in order[:n]]
    records = adapters.run(*faults, *of_many, items=items)
    assert not any(adapters.answers.ahead)
    requests = adapters.asked
    alone = adapters.run(*faults, "many", items=items)
    assert comparable(records) == comparable(alone)
    assert (len(requests[0]) > 1) == (n > 1)
