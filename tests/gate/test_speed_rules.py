"""harness/gate/speed_rules.py: slower fails, too noisy is not judged; neither passes."""

from pathlib import Path

import pytest

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.gate.speed_rules import TimeRatio, state_of_ratio
from tests.support.gate_bundles import both, findings, finished, judged, timed
from tests.support.report_bundles import run_info

BESIDE = '[[speed]]\nbackend = "mine"\nbaseline = "llama.cpp"\nmax_ratio = 1.05\n'
SINCE = '[[speed]]\nbackend = "mine"\nanchor = "llama.cpp"\nmax_ratio = 1.05\n'


@pytest.mark.parametrize(
    ("ratio", "spread", "again", "exit_status"),
    [
        (1.0, 0.01, 1.0, 0),
        (0.5, 0.01, 1.0, 0),
        (1.1, 0.01, 1.0, 1),
        (1.05, 0.02, 1.0, 2),
        (1.0, 0.2, 1.0, 2),
        (1.0, 0.01, 1.08, 2),
        (1.06, 0.005, 1.08, 2),
    ],
    ids=["same", "faster", "slower", "at-limit", "spread", "noisy", "slower-than-limit-in-noise"],
)
def test_ratio_decides_only_outside_its_interval_and_the_noise(
    tmp_path: Path, ratio: float, spread: float, again: float, exit_status: int
) -> None:
    bundle = finished(tmp_path / "b", [timed("t", ratio, spread, again)])
    assert judged(bundle, BESIDE).exit_status == exit_status


def test_slow_down_fails_with_ratio_interval_limit_and_replay(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [timed("timing/top_p", 1.1)])
    ((rule, state, finding),) = findings(judged(bundle, BESIDE))
    assert (rule, state) == ("speed.mine", "failed")
    assert finding.subject == "timing/top_p on mine"
    assert finding.figure.startswith("1.1")
    assert finding.limit == "at most 1.05 times llama.cpp (99%)"
    assert finding.replay == (
        "sampler-parity run timing/samplers --case timing/top_p -b llama.cpp -b mine"
    )


@pytest.mark.parametrize("chain", ["timing/top_p/V128", "top_p/V128", "top_p/*", "timing/*"])
def test_chain_is_named_as_tables_and_findings_print_it(tmp_path: Path, chain: str) -> None:
    bundle = finished(tmp_path / "b", [timed("timing/top_p/V128", 1.1)])
    rule = BESIDE.replace("[[speed]]", f'[[speed]]\nchain = "{chain}"')
    assert judged(bundle, rule).exit_status == 1


def test_inconclusive_asks_for_more_rounds(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [timed("t", 1.0, again=1.08)])
    ((_, state, finding),) = findings(judged(bundle, BESIDE))
    assert state == "unjudged"
    assert finding.mend.startswith("measure again, with more rounds")


def changed(record: TimingResult, **fields: object) -> TimingResult:
    return record.model_copy(update=fields)


@pytest.mark.parametrize(
    "record",
    [
        changed(timed("t", 1.0), again=[]),
        changed(timed("t", 1.0), ns={"mine": timed("t", 1.0).ns["mine"]}),
        changed(timed("t", 1.0), ns={"llama.cpp": timed("t", 1.0).ns["llama.cpp"]}),
        changed(
            timed("t", 1.0),
            ns={
                "mine": timed("t", 1.0).ns["mine"][:-1],
                "llama.cpp": timed("t", 1.0).ns["llama.cpp"],
            },
        ),
        changed(timed("t", 1.0), ns={name: ns[:7] for name, ns in timed("t", 1.0).ns.items()}),
    ],
    ids=["no-noise", "no-baseline", "no-backend", "a-round-less", "seven-rounds"],
)
def test_timing_with_data_taken_out_is_not_judged(tmp_path: Path, record: TimingResult) -> None:
    assert judged(finished(tmp_path / "b", [record]), BESIDE).exit_status == 2


def test_bundle_without_timings_is_not_judged(tmp_path: Path) -> None:
    assert judged(finished(tmp_path / "b", [both("a")]), BESIDE).exit_status == 2


def test_last_release_is_compared_by_a_backend_that_both_runs_timed(tmp_path: Path) -> None:
    last = finished(tmp_path / "last", [timed("t", 2.0)])
    same = finished(tmp_path / "same", [timed("t", 2.02)])
    slower = finished(tmp_path / "slower", [timed("t", 2.2)])
    assert judged(same, SINCE, last).exit_status == 0
    assert judged(slower, SINCE, last).exit_status == 1
    assert judged(slower, SINCE).exit_status == 2
    assert judged(last, SINCE, slower).exit_status == 0


def test_times_of_another_machine_are_not_compared(tmp_path: Path) -> None:
    last = finished(tmp_path / "last", [timed("t", 1.0)])
    info = run_info("mine", "llama.cpp")
    other = info.machine.model_copy(update={"cpu": "Another CPU"})
    bundle = finished(tmp_path / "b", [timed("t", 1.0)], info.model_copy(update={"machine": other}))
    ((_, state, finding),) = findings(judged(bundle, SINCE, last))
    assert state == "unjudged"
    assert finding.figure == (
        "the baseline was timed on another machine: cpu Test CPU, here Another CPU"
    )


def test_chain_that_the_baseline_bundle_lacks_is_not_judged(tmp_path: Path) -> None:
    last = finished(tmp_path / "last", [timed("old", 1.0)])
    bundle = finished(tmp_path / "b", [timed("new", 1.0)])
    ((_, _, finding),) = findings(judged(bundle, SINCE, last))
    assert finding.figure == "was not timed in the baseline bundle"


def test_limit_below_one_asks_to_be_faster() -> None:
    assert state_of_ratio(TimeRatio(0.4, 0.39, 0.41, 0.02), 0.5) == "met"
    assert state_of_ratio(TimeRatio(0.5, 0.49, 0.51, 0.02), 0.5) == "unjudged"
    assert state_of_ratio(TimeRatio(0.6, 0.59, 0.61, 0.02), 0.5) == "failed"
