"""Blocks of batches: their cases, and that every script is accepted."""

import numpy as np
import pytest

from sampler_parity.harness.checks.batch.block import SCRIPTS, Batches, Name, Writer
from sampler_parity.harness.protocol.live import check_script, sequences_of
from tests.support.cases import ABOUT

BLOCK = ABOUT | {
    "id": "b",
    "chains": {"greedy": [{"greedy": {}}], "dist": [{"dist": {"seed": "$seed"}}]},
    "families": ["normal", "one"],
    "sizes": [8],
    "rows": [1, 3],
    "scripts": ["steady", "serving"],
    "steps": 2,
}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_every_script_can_be_taken_and_gives_each_row_of_a_step_other_logits(
    name: Name, size: int
) -> None:
    for seed in range(5):
        writer = Writer(np.random.default_rng(seed), size, 2 * size, size + 3, 9)
        steps = [SCRIPTS[name](writer) for _ in range(10)]
        check_script(steps, 2 * size, size + 3)
        assert max(len(sampled) for sampled in sequences_of(steps)) <= size
        for step in steps:
            assert len({one.row for one in step.sample}) == len(step.sample) > 0


def test_a_block_is_a_case_for_each_number_of_rows_and_script() -> None:
    cases = list(Batches.model_validate(BLOCK).items(quick=True))
    assert [case.id for case in cases] == [
        f"b/V8-x{rows}-{script}-s0" for rows in (1, 3) for script in ("steady", "serving")
    ]
    three = cases[2].batch
    assert three is not None
    assert [len(step.sample) for step in three.steps] == [3, 3]
    assert {str(each.chain) for each in three.sequences[:2]} >= {"[{'greedy': {}}]"}


def test_the_quick_profile_takes_what_is_named_and_refuses_what_is_not_there() -> None:
    few = Batches.model_validate(BLOCK | {"quick": {"rows": [3], "scripts": ["steady"]}})
    assert [case.id for case in few.items(quick=True)] == ["b/V8-x3-steady-s0"]
    assert len(list(few.items(quick=False))) == 4
    wrong = Batches.model_validate(BLOCK | {"quick": {"rows": [2]}})
    with pytest.raises(ValueError, match=r"quick\.rows: 2 is not in the block"):
        list(wrong.items(quick=False))
