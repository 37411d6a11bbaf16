"""A case asked several times: `flaky`, the rate and its interval."""

from contextlib import closing

import pytest

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.repeat import interval, repeated, report_lines
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.verdicts import Verdict
from tests.support.draws import DRAWS
from tests.support.report_bundles import case, got


def _result(verdict: Verdict, detail: str = "") -> CaseResult:
    required = {"mine": ["identical", "close"]}
    return case("a", {"mine": got(verdict, detail=detail)}, required=required)


def _asked(*verdicts: Verdict) -> CaseResult:
    first, *others = [_result(verdict) for verdict in verdicts]
    again = iter(others)
    return repeated(lambda: next(again), len(verdicts), first)


@pytest.mark.slow
def test_one_wrong_draw_in_a_thousand_is_flaky_with_its_rate() -> None:
    with closing(InProcess("dist/every-thousandth-draw")) as backend:
        first = execute(DRAWS, [backend])
        all_of_them = repeated(lambda: execute(DRAWS, [backend]), 20, first)
    result = all_of_them.backends[backend.name]
    assert result.verdict == "flaky"
    assert result.asked == {"identical": 14, "diverged": 6}  # 20 * 300 draws, six thousands
    assert "0.3 [0.12, 0.54] not as required" in result.detail
    assert not all_of_them.ok


def test_a_rate_that_is_zero_has_a_bound() -> None:
    low, high = interval(0, 100)
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))  # (1 - high)^100 = 2.5%


def test_one_in_five_thousand_has_a_lower_and_an_upper_bound() -> None:
    low, high = interval(1, 5000)
    assert low == pytest.approx(1 - 0.975 ** (1 / 5000))  # the first one in 2.5% of such runs
    none, one = (1 - high) ** 5000, 5000 * high * (1 - high) ** 4999
    assert none + one == pytest.approx(0.025)


def test_what_fails_every_time_keeps_its_verdict() -> None:
    result = _asked("diverged", "crashed", "diverged").backends["mine"]
    assert (result.verdict, result.asked) == ("diverged", {"diverged": 2, "crashed": 1})


def test_what_is_as_required_every_time_is_not_flaky() -> None:
    assert _asked("identical", "close", "identical").backends["mine"].verdict == "identical"


def test_the_first_failure_is_shown_where_the_first_answer_was_right() -> None:
    results = iter([_result("crashed", "exit status 3"), _result("identical")])
    result = repeated(lambda: next(results), 3, _result("identical")).backends["mine"]
    assert result.verdict == "flaky"
    assert result.detail.endswith("; exit status 3")


def test_a_run_says_how_often_each_backend_was_asked() -> None:
    assert report_lines([_result("identical")]) == []
    (line,) = report_lines([_asked("identical", "identical"), _asked("identical", "diverged")])
    assert line == (
        "repeat   mine   4 requests, 1 not as required: a rate of 0.25 [0.0063, 0.81],"
        " exact for 95%"
    )
