"""Random batches: what they contain, and that a planted fault is caught and minimized."""

from contextlib import closing
from functools import cache
from typing import Any

import pytest

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.batch.random_batches import RandomBatches
from sampler_parity.harness.checks.batch.run import prepare, reference_batch
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSequence
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.cases import ABOUT
from tests.support.inside import result_of


def block(**changed: Any) -> RandomBatches:
    fields = {"count": 60, "quick": 5, "families": ["normal", "flat"], "sizes": [6, 12]}
    return RandomBatches.model_validate(ABOUT | fields | {"steps": 10} | changed)


@cache
def drawn_cases() -> list[BatchCase]:
    return list(block().items(quick=False, shift=0))


def test_a_row_with_adaptive_p_is_never_cloned_since_its_clone_draws_other_numbers() -> None:
    def clone(sequence: BatchSequence) -> BatchSequence:
        assert not any("adaptive_p" in stage for stage in sequence.chain)
        return sequence

    for case in drawn_cases():
        live = Live(case.batch.sequences.__getitem__, clone, lambda sequence: None)
        for step in case.batch.steps:
            live.do(step.before)


def test_a_case_depends_on_its_number_and_the_seed_alone() -> None:
    assert list(block().items(quick=True, shift=0)) == drawn_cases()[:5]
    moved = next(block().items(quick=True, shift=1))
    assert moved.id == "a/1-0000"
    assert moved.batch != drawn_cases()[0].batch
    assert next(block(seed=1).items(quick=True, shift=0)) == moved


@pytest.mark.slow
def test_the_reference_refuses_no_shipped_case() -> None:
    (path,) = find_suites(["batch/generated"])
    for case in expand(path, "quick"):
        assert reference_batch(prepare(case)).refusal == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "stage"),
    [
        ("batch/greedy-takes-the-last-tie-beside-a-sort", "greedy"),
        ("batch/entries-of-the-last-bias-stay", "logit_bias"),
        ("batch/top-k-off-takes-the-largest", "top_k"),
    ],
)
def test_parameters_of_a_neighbour_or_of_the_row_before_are_caught(fault: str, stage: str) -> None:
    (path,) = find_suites(["batch/generated"])
    cases = [case for case in expand(path, "quick") if "/mixed/" in case.id]
    with closing(InProcess(fault)) as backend:
        results = (result_of(case, backend) for case in cases)
        found = next(result for result in results if result.verdict != "identical")
    assert (found.verdict, found.stage) == ("diverged", stage)
