"""Random batches: what they contain, and that a planted fault is caught and minimized."""

from functools import cache
from typing import Any

import pytest

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.batch.random_batches import RandomBatches
from sampler_parity.harness.checks.batch.run import prepare, reference_batch
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSequence
from sampler_parity.harness.suite.file import expand, find_suites

BLOCK: dict[str, Any] = {
    "id": "r",
    "description": "Rows at random",
    "why": "To test.",
    "count": 60,
    "quick": 5,
    "families": ["normal", "flat"],
    "sizes": [6, 12],
    "steps": 10,
}


def block(**changed: Any) -> RandomBatches:
    return RandomBatches.model_validate(BLOCK | changed)


@cache
def drawn_cases() -> list[BatchCase]:
    return list(block().items(quick=False, shift=0))


def kind(sequence: BatchSequence) -> list[str]:
    names = [name for stage in sequence.chain for name in stage]
    return [name for name in names if name not in ("temp", "top_k", "top_p", "min_p")]


def test_a_row_with_adaptive_p_is_never_cloned_since_its_clone_draws_other_numbers() -> None:
    def clone(sequence: BatchSequence) -> BatchSequence:
        assert "adaptive_p" not in kind(sequence)
        return sequence

    for case in drawn_cases():
        live = Live(case.batch.sequences.__getitem__, clone, lambda sequence: None)
        for step in case.batch.steps:
            live.do(step.before)


def test_a_case_depends_on_its_number_and_the_seed_alone() -> None:
    assert list(block().items(quick=True, shift=0)) == drawn_cases()[:5]
    moved = next(block().items(quick=True, shift=1))
    assert moved.id == "r/1-0000"
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
    backend = InProcess(fault)
    (path,) = find_suites(["batch/generated"])
    cases = [case for case in expand(path, "quick") if "/mixed/" in case.id]
    try:
        results = (execute(case, [backend]).backends[backend.name] for case in cases)
        found = next(result for result in results if result.verdict != "identical")
    finally:
        backend.close()
    assert (found.verdict, found.stage) == ("diverged", stage)
