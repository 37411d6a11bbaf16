"""checks/timing/slopes.py, checks/timing/notices.py: growth of a cost, and disturbances."""

import pytest

from sampler_parity.harness.checks.timed_records import Conditions, TimingResult
from sampler_parity.harness.checks.timing.slopes import notices, slopes

SIZES = (4096, 32_000, 65_536, 131_072)


def point(n: int, ns: int, last_n: int = 0, steady: bool = False) -> TimingResult:
    return TimingResult(
        id=f"timing/g/V{n}-n{last_n}",
        sampler="penalties",
        n_vocab=n,
        ns={"a": [ns] * 5},
        group="g",
        last_n=last_n,
        steady=["n_vocab"] if steady else [],
    )


@pytest.mark.slow
def test_slope_and_exponent_of_a_cost_of_3_ns_a_token() -> None:
    (slope,) = slopes([point(n, 3 * n) for n in SIZES])
    assert (slope.over, slope.points) == ("n_vocab", list(SIZES))
    assert slope.ns_per == pytest.approx(3.0)
    assert slope.exponent == pytest.approx(1.0)


def test_slope_over_the_history_is_fitted_at_each_vocabulary() -> None:
    fitted = slopes([point(4096, 500 + 7 * n, last_n=n) for n in (64, 256, 1024, 4096)])
    assert [(s.over, s.other, round(s.ns_per, 9)) for s in fitted] == [("last_n", 4096, 7.0)]


def test_cost_that_must_not_grow_with_the_vocabulary_and_does_is_a_finding() -> None:
    growing = [point(n, 3 * n, steady=True) for n in SIZES]
    level = [point(n, 40_000 + n % 7, steady=True) for n in SIZES]
    assert [s.finding for s in slopes(growing)] == [True]
    assert [s.finding for s in slopes(level)] == [False]
    assert [s.finding for s in slopes([point(n, 3 * n) for n in SIZES])] == [False]


def test_two_points_make_no_slope() -> None:
    assert slopes([point(n, 3 * n) for n in SIZES[:2]]) == []


def timed(ns: list[int], mhz: list[float] | None = None) -> TimingResult:
    under = Conditions(cpu=0, mhz=mhz or [])
    return TimingResult(id="timing/x", sampler="s", n_vocab=9, ns={"a": ns}, conditions=under)


def test_drift_over_the_rounds_is_reported() -> None:
    (remark,) = notices(timed([1000 + 20 * i for i in range(30)]))
    assert (remark.kind, remark.text) == ("drift", "a drifts by +37% over 30 rounds")


def test_level_rounds_have_no_notice() -> None:
    assert notices(timed([1000 + (37 * i) % 11 for i in range(30)])) == []


def test_outliers_are_counted() -> None:
    (remark,) = notices(timed([1000, 1001, 1002, 1003, 9000] * 6))
    assert (remark.kind, remark.text) == ("outliers", "a: 6/30 samples are far above its median")


def test_change_of_the_processors_frequency_is_reported() -> None:
    (remark,) = notices(timed([1000] * 6, mhz=[2100.0] * 5 + [3000.0]))
    assert remark.text == "the processor ran at 2,100 to 3,000 MHz"


@pytest.mark.parametrize(("load", "kinds"), [(1.4, []), (1.6, ["busy"])])
def test_busy_machine_is_reported(load: float, kinds: list[str]) -> None:
    under = Conditions(cpu=0, load=load)
    remarks = notices(timed([1000] * 6).model_copy(update={"conditions": under}))
    assert [n.kind for n in remarks] == kinds


def test_what_the_system_does_not_report_is_noted() -> None:
    under = Conditions(unpinned="no such call", no_mhz="not said")
    remarks = notices(timed([1000] * 6).model_copy(update={"conditions": under}))
    assert [n.text for n in remarks] == ["no such call", "not said"]
