from typing import Any

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.scripts import Scripts
from sampler_parity.harness.checks.stages.operations import (
    after_draws,
    exhaustive,
    letters,
    plan_of,
    simpler,
)
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.registry import ROWS
from tests.support.cases import ABOUT


def test_letters_become_steps_and_each_instance_samples_at_the_end() -> None:
    steps, instances = plan_of(["spcR"], rows=2)
    assert instances == 1
    assert [(step.instance, step.row, step.accept, step.before) for step in steps] == [
        (0, 0, "selected", []),
        (0, 1, None, []),
        (0, 0, "selected", [("clone", 0), ("reset", 1)]),
        (1, 1, "selected", []),
    ]


def test_each_script_has_instances_of_its_own_and_clones_come_after_them() -> None:
    steps, instances = plan_of(["c", "nS", "c"], rows=1)
    assert instances == 4
    assert [step.instance for step in steps] == [0, 4, 2, 1, 2, 3, 5]
    assert [step.before for step in steps if step.before] == [[("clone", 0)], [("clone", 3)]]


def test_a_number_repeats_the_letter_before_it() -> None:
    assert "".join(letters("s3cR2S")) == "ssscRRS"


def test_a_second_instance_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no second instance before 'S': write c or n"):
        plan_of(["sSc"], rows=1)


def test_all_scripts_of_two_operations_are_there_once() -> None:
    # 1 empty; one operation: 4 alone, 3 with two new instances; two: 3 * 4 + 6 and 3 * 6. That is
    # 44, and 13 of them end in s or S.
    scripts = exhaustive(2)
    assert len(scripts) == len(set(scripts)) == 31
    assert {"rr", "sr", "cR", "cP", "nrP", "npR"} <= set(scripts)
    assert not {"ns", "cs", "sS", "nRr", "nPp"} & set(scripts)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_every_exhaustive_script_is_valid_and_no_longer(length: int) -> None:
    for script in exhaustive(length):
        plan_of([script], rows=3)
        assert len(script.removeprefix("n")) <= length


def test_a_clone_is_made_after_exactly_so_many_samples() -> None:
    steps, _ = plan_of([after_draws([2, 3, 7])], rows=1)
    before_clone, samples = [], 0
    for step in steps:
        if ("clone", 0) in step.before:
            before_clone.append(samples)
        samples += step.instance == 0
    assert before_clone == [2, 3, 7]


def test_simpler_scripts_lose_one_part_or_half_of_the_repetitions() -> None:
    assert list(simpler(["s", "r"])) == [["s"], ["r"], ["r"], ["s"]]
    assert list(simpler(["s4cS"])) == [["cS"], ["s2cS"], ["s3cS"], ["s4S"], ["s4c"]]


def block(**fields: Any) -> Scripts:
    chains = {"dist": [{"dist": {"seed": 1}}]}
    return Scripts.model_validate(ABOUT | {"id": "x", "chains": chains} | fields)


def test_a_block_packs_every_script_into_cases() -> None:
    cases = list(block(length=3, quick_length=2).items(quick=True))
    assert [case.id for case in cases] == ["x/dist/length-2/1", "x/dist/length-2/2"]
    assert sum(len(case.operations) for case in cases if isinstance(case, StagesCase)) == 31


def test_draws_are_one_script_in_their_profile() -> None:
    cases = list(block(draws=[3, 9], quick_draws=[3]).items(quick=True))
    assert [case.id for case in cases] == ["x/dist/draws"]
    assert isinstance(cases[0], StagesCase)
    assert cases[0].operations == ["s3cSsRS"]


def test_every_sampler_with_a_state_has_scripts() -> None:
    with_state = {name for name, row in ROWS.items() if {"draws", "accepted"} & row.sizes.keys()}
    cases = expand(find_suites(["parity/scripts"])[0], "quick")
    assert with_state - {name for case in cases for name in case.samplers} == set()
