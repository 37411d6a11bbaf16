"""Differences that a policy accepts: ties, rounding, and behaviour that was not required.

By default none.
"""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.distribution.record import CellOnBackend
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.labels import terminal_lines
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.records import GateResult
from sampler_parity.harness.verdicts import Verdict
from tests.support.gate_bundles import TODAY, both, cell, findings, finished, judged, on_mine
from tests.support.report_bundles import case, got

PARITY = "[[parity]]\n"
LACKS = got("skipped", detail="no sampler dry")


def by(tmp_path: Path, result: BackendResult, policy: str, **fields: Any) -> GateResult:
    """Judge a case with this result and one that is identical."""
    return judged(finished(tmp_path / "b", [on_mine("a", result, **fields), both("b")]), policy)


@pytest.mark.parametrize("ran_with", ["identical", "tied", "close"])
@pytest.mark.parametrize("verdict", ["tied", "close", "skipped"])
def test_the_default_policy_lets_nothing_of_it_pass_whatever_the_run_accepted(
    tmp_path: Path, verdict: Verdict, ran_with: Any
) -> None:
    bundle = finished(tmp_path / "b", [on_mine("a", got(verdict), accept=ran_with), both("b")])
    assert gate(bundle, read_policy(None), None, TODAY).exit_status == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accept", "result", "passes"),
    [
        ("identical", got("reordered"), False),
        ("tied", got("reordered"), True),
        ("tied", got("tied"), True),
        ("tied", got("close"), False),
        ("tied", got("close", ties=True), False),
        ("correct", got("tied"), True),
        ("correct", got("correct"), True),
        ("correct", got("close"), False),
        ("tied", got("correct"), False),
        ("close", got("tied"), True),
        ("close", got("close", ties=True), True),
        ("close", got("boundary"), False),
        ("close", got("diverged"), False),
        ("close", LACKS, False),
    ],
)
def test_a_policy_accepts_up_to_a_verdict(
    tmp_path: Path, accept: str, result: BackendResult, passes: bool
) -> None:
    outcome = by(tmp_path, result, f'accept = "{accept}"\n{PARITY}')
    assert outcome.exit_status == (0 if passes else 1)


def test_a_laxer_requirement_of_the_case_stays(tmp_path: Path) -> None:
    required: dict[str, list[Verdict]] = {
        "mine": ["identical", "boundary"],
        "llama.cpp": ["identical"],
    }
    policy = f'accept = "tied"\n{PARITY}'
    assert by(tmp_path, got("boundary"), policy, required=required).exit_status == 0


def test_ties_next_to_rounding_need_both(tmp_path: Path) -> None:
    rule = '[[parity]]\nverdicts = ["identical", "close"]'
    assert by(tmp_path / "x", got("close"), rule).exit_status == 0
    outcome = by(tmp_path / "y", got("close", ties=True), rule)
    ((_, _, finding),) = findings(outcome)
    assert (outcome.exit_status, finding.figure) == (1, "close and tied")


def test_a_skipped_case_fails_with_what_it_lacks_and_the_fix(tmp_path: Path) -> None:
    ((_, state, finding),) = findings(by(tmp_path, LACKS, PARITY))
    assert (state, finding.figure) == ("failed", "skipped: no sampler dry")
    assert 'skipped = "allow"' in finding.mend


@pytest.mark.parametrize(
    "policy",
    [
        f'skipped = "allow"\n{PARITY}',
        '[[parity]]\nverdicts = ["identical", "skipped"]',
        '[[parity]]\nverdicts = ["identical", "unsupported"]',
    ],
    ids=["policy", "rule", "a rule of before"],
)
def test_a_policy_may_let_skipped_cases_be_and_counts_them_apart(
    tmp_path: Path, policy: str
) -> None:
    outcome = by(tmp_path, LACKS, policy)
    rule = outcome.rules[1]
    assert (outcome.exit_status, rule.judged, rule.met, rule.skipped) == (0, 3, 3, 1)
    assert any("3/3 met, 1 skipped" in line for line in terminal_lines(outcome))


def test_where_all_was_skipped_nothing_can_be_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [case("a", {"mine": LACKS, "llama.cpp": LACKS}, steps=0)])
    outcome = judged(bundle, f'skipped = "allow"\n{PARITY}')
    assert (outcome.exit_status, outcome.rules[1].judged) == (2, 0)


def test_a_sampler_that_is_no_longer_claimed_is_worse_than_it_was(tmp_path: Path) -> None:
    before = finished(tmp_path / "before", [both("a")])
    policy = 'skipped = "allow"\n[[not_worse]]\nbackend = "mine"'
    bundle = finished(tmp_path / "b", [on_mine("a", LACKS)])
    assert judged(bundle, policy, before).exit_status == 1
    assert judged(bundle, policy, bundle).exit_status == 0


def test_a_tie_where_there_was_none_is_worse(tmp_path: Path) -> None:
    before = finished(tmp_path / "before", [on_mine("a", got("close"))])
    bundle = finished(tmp_path / "b", [on_mine("a", got("close", ties=True))])
    assert judged(bundle, '[[not_worse]]\nbackend = "mine"', before).exit_status == 1
    assert judged(before, '[[not_worse]]\nbackend = "mine"', bundle).exit_status == 0


def test_a_skipped_distribution_test_fails_unless_the_policy_lets_it_be(tmp_path: Path) -> None:
    lacks = CellOnBackend(decision="skipped", detail="no draws")
    bundle = finished(tmp_path / "b", [cell("c", lacks)])
    ((_, state, finding),) = findings(judged(bundle, "[[distribution]]"))
    assert (state, finding.figure) == ("failed", "skipped: no draws")
    outcome = judged(bundle, 'skipped = "allow"\n[[distribution]]')
    rule = next(rule for rule in outcome.rules if rule.rule == "distribution")
    assert (outcome.exit_status, rule.judged, rule.skipped) == (0, 1, 1)


def test_cuts_that_all_lean_to_one_side_fail_the_gate(tmp_path: Path) -> None:
    for n, status in ((60, 1), (12, 0)):
        late = got("correct", late=1)
        cases = [on_mine(f"top_p/{i}", late) for i in range(n)]
        outcome = judged(finished(tmp_path / f"b{n}", cases), f'accept = "correct"\n{PARITY}')
        assert outcome.exit_status == status
        assert ("biased" in str(findings(outcome))) == bool(status)
