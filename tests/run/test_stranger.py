"""An outside author's top_p in JavaScript: right, it passes with ties accepted; wrong, it fails."""

import shutil
from collections.abc import Iterable
from contextlib import closing

import pytest

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.differing import kind_of
from sampler_parity.harness.protocol.process import BackendProcess
from tests.support.top_p import ADAPTER, CASES, SHOW

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


def accepting_ties(cases: Iterable[StagesCase], *faults: str) -> list[CaseResult]:
    """Return the results of top_p, with its faults, for which ties are accepted."""
    with closing(BackendProcess("mine", ["node", str(ADAPTER), *faults])) as backend:
        return [execute(c, [backend]).model_copy(update={"accept": "tied"}) for c in cases]


@pytest.mark.slow
def test_a_right_top_p_that_sorts_otherwise_passes_where_ties_are_accepted() -> None:
    results = accepting_ties(case for case in CASES.values() if case.logits.n <= 256)
    verdicts = [result.backends["mine"].verdict for result in results]
    assert {*verdicts} == {"identical", "reordered", "tied", "skipped"}
    assert verdicts.count("tied") >= 50  # or the suite would not show what is asked here
    assert verdicts.count("skipped") == 18  # with another sampler in their chains
    assert all(result.ok for result in results)


# Each fault, and its report: the number kept, the numbers themselves, or which.
WRONG = {
    "drops-the-crossing-token": {"fewer"},
    "exceeds-instead-of-reaches": {"more"},  # a boundary, whichever of equal ones stay
    "keeps-one-more": {"more"},
    "ignores-min-keep": {"fewer"},
    "sums-in-bfloat16": {"more"},
    "one-is-not-off": {"order"},
    "normalizes-the-rest": {"p"},
    # these are wrong at ties alone
    "keeps-all-that-equal-the-last": {"more"},
    "drops-equals-that-do-not-all-fit": {"fewer"},
    "takes-the-next-id-of-equals": {"tokens"},
}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.slow
def test_a_wrong_top_p_fails_with_its_fault_although_ties_are_accepted(fault: str) -> None:
    results = accepting_ties([CASES[name] for name in SHOW], fault)
    wrong = [result.backends["mine"] for result in results if not result.ok]
    exactly_at_p = fault == "exceeds-instead-of-reaches"
    worst = [r for r in wrong if r.verdict == ("boundary" if exactly_at_p else "diverged")]
    assert worst
    assert {result.stage for result in wrong} == {"top_p"}
    assert {kind_of(result).name for result in worst} == WRONG[fault]
