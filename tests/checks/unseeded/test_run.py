"""Chains without a seed: two of them differ, and so does one after its reset."""

import inspect
from contextlib import closing
from typing import Any

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.checks.unseeded import wrong
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.registry import ROWS
from tests.support.inside import last_result_of


def _cases() -> dict[str, Case]:
    (path,) = find_suites(["parity/unseeded"])
    return {case.id.rpartition("-")[2]: case for case in expand(path, "quick")}


def test_every_sampler_that_has_a_seed_is_asked_without_one() -> None:
    def has_seed(name: str) -> bool:
        make: Any = ROWS[name].make
        return "seed" in inspect.signature(make).parameters

    assert {name for name in of_newest() if has_seed(name)} == _cases().keys()
    assert {case.check for case in _cases().values()} == {"unseeded"}


def test_chains_that_are_right_differ() -> None:
    with closing(InProcess("temp/last-parameter")) as backend:
        assert all(execute(case, [backend]).ok for case in _cases().values())


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        ("dist/largest-seed-taken", "two chains without a seed select the same 64 tokens"),
        ("adaptive_p/drawn-once", "selects the same 64 tokens after its reset"),
    ],
)
def test_what_is_alike_is_a_divergence(mutant: str, message: str) -> None:
    sampler = mutant.partition("/")[0]
    result = last_result_of(_cases()[sampler], InProcess(mutant))
    assert (result.verdict, result.stage) == ("diverged", sampler)
    assert message in result.detail


def test_a_chain_that_selects_nothing_is_wrong() -> None:
    assert wrong([1, None], [2, 3], [3, 4]) == "no token was selected"
