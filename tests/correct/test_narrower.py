"""A backend that states a wider arithmetic than its results need is reported."""

from contextlib import closing

import pytest

from sampler_parity.engines.correct import compensated, float64, log_sum_exp, worker
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.correct.bias import is_tried, narrower, wide
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.maintenance.selftest.selftest import quick_cases
from tests.support.inside import claiming


def results(engine: worker.Worker, stated: Arithmetic) -> list[CaseResult]:
    """Return results in which sums of many terms are rounded, and exp is."""
    claiming(engine, arithmetic=stated)
    chosen = ("top_p/", "typical_p/", "golden/", "chains/")
    cases = [c for c in quick_cases() if c.id.startswith(chosen) and is_tried(c.id)]
    with closing(InPlace("engine", engine)) as backend, accepting("correct"):
        return [execute(case, [backend]) for case in cases]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "stated", "fits"),
    [
        (float64.Worker(), Arithmetic(), ["float64"]),
        (float64.Worker(), float64.Worker().ops.arithmetic, []),
        (compensated.Worker(), Arithmetic(exp_ulps=4), ["compensated sums"]),
        (log_sum_exp.Worker(), Arithmetic(), []),
    ],
    ids=["float64 as float32", "float64", "compensated in any order", "log_sum_exp"],
)
def test_a_wide_statement_is_reported_and_a_fitting_one_is_not(
    engine: worker.Worker, stated: Arithmetic, fits: list[str]
) -> None:
    assert [one.fits for one in wide(results(engine, stated))] == fits


def test_narrower_arithmetics_begin_with_the_narrowest() -> None:
    assert [*narrower(Arithmetic(probabilities="bfloat16"))] == [
        "float64", "float32", "compensated sums", "pairwise sums",
    ]  # fmt: skip
    assert narrower(Arithmetic(sums="float64")) == {}
