"""scripts/release/dry_run.py: its pass condition, and that its suites and policies are valid."""

from pathlib import Path

import pytest

from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.suite.file import expand
from sampler_parity.harness.suite.timings import read_timings
from sampler_parity.maintenance.selftest.candidates import WrongPenalties
from scripts.release.dry_run import (
    CONFIDENCE,
    EXPECTED,
    MAX_RATIO,
    PARITY,
    POLICY,
    TIMING,
    result_of,
)
from tests.support.gate_bundles import both, finished, timed
from tests.support.gate_bundles import judged as gated
from tests.support.report_bundles import case, diverged, got

RULES = """
[[parity]]
backend = "mine"
[[speed]]
backend = "mine"
baseline = "llama.cpp"
max_ratio = 1.05
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "ratio", "right"),
    [
        (False, 1.0, {"clean"}),
        (True, 1.0, {"wrong-penalties"}),
        (False, 1.1, {"slower"}),
        (True, 1.1, set()),
        (False, 1.05, set()),
    ],
    ids=["clean", "parity", "speed", "both", "inconclusive"],
)
def test_rehearsal_is_right_only_where_the_planted_fault_alone_fails(
    tmp_path: Path, wrong: bool, ratio: float, right: set[str]
) -> None:
    on_mine = diverged() if wrong else got()
    records = [case("a", {"mine": on_mine, "llama.cpp": got()}), both("b"), timed("t", ratio)]
    result = gated(finished(tmp_path / "b", records), RULES)
    named = {name: result_of(name, result, "mine") for name in EXPECTED}
    assert {name for name, outcome in named.items() if outcome.right} == right


def test_suites_and_policies_of_the_rehearsal_are_valid(tmp_path: Path) -> None:
    parity, timing = tmp_path / "release.toml", tmp_path / "timing.toml"
    parity.write_text(PARITY)
    timing.write_text(TIMING)
    assert [c.id for c in expand(parity, "quick")] == [
        "release/penalties",
        "release/default",
        "release/reset",
    ]
    assert len(read_timings(timing)) == 2
    policy = tmp_path / "gate.toml"
    policy.write_text(POLICY.format(name="clean", max_ratio=MAX_RATIO, confidence=CONFIDENCE))
    assert read_policy(policy).policy.rules("speed")[0].baseline == "llama.cpp"


def test_wrong_candidate_exchanges_two_penalties_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    monkeypatch.setattr(
        "sampler_parity.harness.llama_cpp.worker.Worker._init",
        lambda self, stage, n, vocab: seen.append(stage),
    )
    worker = WrongPenalties.__new__(WrongPenalties)
    worker._init({"penalties": {"penalty_freq": 0.5, "penalty_present": 0.1}}, 10, None)
    worker._init({"top_k": {"k": 4}}, 10, None)
    assert seen == [
        {"penalties": {"penalty_freq": 0.1, "penalty_present": 0.5}},
        {"top_k": {"k": 4}},
    ]
