"""Twins, and the script in which several instances take uneven turns."""

from itertools import pairwise

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.twins import others
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.registry import ROWS
from tests.support.cases import stages

OF_GRAMMARS = {"grammar", "grammar_lazy_patterns"}  # whose suites reset and clone each walk


def _turns(steps: int) -> StagesCase:
    return stages([{"greedy": {}}], [0.0, 1.0], steps=steps, script="turns")


def test_every_sampler_has_twins_in_the_quick_profile() -> None:
    names = {
        case.id.rpartition("/")[2] if case.id.startswith("state/") else case.id.partition("/")[0]
        for path in find_suites(["parity/state", "removed"])
        for case in expand(path, "quick")
        if "/alive-at-once/" in case.id
    }
    assert sorted(ROWS.keys() - OF_GRAMMARS - names) == []


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.edges])
def test_the_third_of_the_twins_differs_in_every_parameter(name: str) -> None:
    row = ROWS[name]
    values = others(row)
    assert values
    assert [key for key, value in values.items() if value == row.smallest.get(key)] == []


def test_turns_clone_a_clone_reset_one_and_accept_what_was_not_selected() -> None:
    steps, instances = _turns(24).plan()
    assert (len(steps), instances) == (24, 2)
    done = [operation for step in steps for operation in step.before]
    assert {name for name, _ in done} == {"clone", "reset"}
    assert {step.accept for step in steps} >= {"selected", None}
    assert any(isinstance(step.accept, int) for step in steps)
    assert len({step.instance for step in steps}) > 2


@pytest.mark.parametrize("n", [16, 24, 59])
def test_turns_clone_the_first_twice_and_a_clone_when_each_has_gone_on(n: int) -> None:
    steps, _ = _turns(n).plan()
    cloned = [
        (i, which) for i, step in enumerate(steps) for name, which in step.before if name == "clone"
    ]
    assert [which for _, which in cloned] == [0, 0, 2]
    for (start, _), (end, which) in pairwise(cloned):
        assert which in {step.instance for step in steps[start:end]}
