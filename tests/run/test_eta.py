"""harness/run/eta.py: the progress of a run, and its remaining time."""

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.run.eta import Pace, Work, work_of
from sampler_parity.harness.run.plan import RunOptions, plan_of

CASE = CaseResult(id="a", suite="s", samplers=[], steps=1, backends={}, required={})
TIMED = TimingResult(id="timing/a", sampler="a", n_vocab=1, repetitions=1, ns={}, baseline="b")
WORKS = [Work("cases", 100, 20, 0.5), Work("timed chains", 10, 0, 3.0)]


def test_what_a_kind_took_says_how_long_the_rest_of_it_takes() -> None:
    pace = Pace(WORKS, now=1000.0)
    assert pace.seconds_left(1001.0) is None  # all would be a guess
    pace.ended([CASE] * 10, now=1020.0)  # 2 s each
    pace.ended([], now=1029.0)
    assert (pace.done, pace.seconds_left(1020.0)) == (30, 70 * 2.0 + 10 * 3.0)
    assert pace.seconds_left(1029.0) == 70 * 2.0 + 10 * 3.0 - 9
    pace.ended([CASE] * 70, now=1090.0)
    assert pace.seconds_left(1090.0) is None  # the rest would be a guess
    pace.ended([TIMED], now=1100.0)  # 10 s
    assert (pace.done, pace.seconds_left(1100.0)) == (101, 9 * 10.0)
    assert pace.seconds_left(1191.0) is None  # it was too short


def test_a_slow_kind_of_cases_is_measured_by_itself() -> None:
    pace = Pace([Work("cases", 100, 0, 0.1), Work("cases", 4, 0, 0.1, frozenset("wxyz"))], now=0.0)
    pace.ended([CASE] * 50, now=5.0)
    pace.ended([CASE.model_copy(update={"id": "w"})], now=35.0)
    assert pace.under_way == ("cases", 51, 104)
    assert pace.seconds_left(35.0) == 50 * 0.1 + 3 * 30.0


def test_the_kind_under_way_is_the_first_that_is_not_done() -> None:
    pace = Pace(WORKS, now=0.0)
    pace.ended([CASE] * 80, now=1.0)
    assert pace.under_way == ("timed chains", 0, 10)
    pace.ended([TIMED] * 10, now=2.0)
    assert pace.under_way is None
    assert pace.seconds_left(2.0) is None


def test_work_is_all_of_the_plan_and_what_the_bundle_has_of_it() -> None:
    plan = plan_of(
        RunOptions(
            ["parity/greedy", "distribution/tail", "timing/disabled", "skip_ratio"],
            ["a=null", "null"],
        )
    )
    of_plan = {work.what: work.total for work in work_of(plan, set())}
    assert of_plan == {
        "cases": len(plan.of("cases")),
        "distribution tests": len(plan.of("distribution tests")),
        "skip ratios": 2 * len(plan.of("skip ratios")),  # a result a backend
        "timed chains": len(plan.of("timed chains")),
    }
    done = {plan.of("cases")[0].id, f"{plan.of('skip ratios')[0].id}@null", "another"}
    assert {work.what: work.before for work in work_of(plan, done)} == {
        "cases": 1,
        "distribution tests": 0,
        "skip ratios": 1,
        "timed chains": 0,
    }


def test_a_full_run_of_parity_has_the_timed_chains_of_the_rule() -> None:
    plan = plan_of(RunOptions(["parity/greedy"], ["llama.cpp"], "full"))
    assert [work.what for work in work_of(plan, set())] == ["cases", "timed chains"]
