"""`--accept correct` where no specification defines the result: NaN, inf, no finite logit."""

from contextlib import closing
from typing import Any

import pytest

from sampler_parity.harness.backends import reference
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.verdicts import Accept, Verdict
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.samplers.greedy import Greedy
from tests.support.cases import stages
from tests.support.inside import Inside, result_of

NAN: list[Any] = [1.0, "nan"]
NOTHING: list[Any] = ["-inf", "-inf"]
DEFINED: list[Any] = [1.0, 2.0]
GREEDY: list[dict[str, Any]] = [{"greedy": {}}]


class Refuses(Greedy):
    def apply(self, cand: Candidates) -> None:
        raise UndefinedInputError("NaN to sort")


class Other(Greedy):
    """Select the other one of two."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.selected = 1 - cand.selected


def verdict(case: StagesCase, sampler: type[Greedy], accept: Accept = "correct") -> Verdict:
    class Worker(reference.Worker):
        samplers = {**ALL_SAMPLERS, "greedy": sampler}

    with closing(Inside(Worker())) as backend, accepting(accept):
        return result_of(case, backend).verdict


@pytest.mark.parametrize(
    ("row", "accept", "expected"),
    [
        (NAN, "correct", "undefined"),
        (NOTHING, "correct", "undefined"),
        (DEFINED, "correct", "rejected"),
        (NAN, "identical", "rejected"),
    ],
)
def test_an_undefined_row_may_be_refused_and_no_other(
    row: list[Any], accept: Accept, expected: Verdict
) -> None:
    assert verdict(stages(GREEDY, row), Refuses, accept) == expected


class Padding(Greedy):
    """Select a place behind the row."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = len(cand)


def test_a_place_behind_the_row_is_wrong_on_any_row() -> None:
    assert verdict(stages(GREEDY, NOTHING), Padding) in ("diverged", "crashed")


@pytest.mark.parametrize(
    ("row", "accept", "expected"),
    [
        (NAN, "correct", "undefined"),
        (DEFINED, "correct", "diverged"),
        (NAN, "identical", "diverged"),
    ],
)
def test_another_token_of_an_undefined_row_is_undefined(
    row: list[Any], accept: Accept, expected: Verdict
) -> None:
    assert verdict(stages(GREEDY, row), Other, accept) == expected


def test_a_stage_may_leave_an_undefined_input_to_the_next() -> None:
    """A temperature of 1e-45 makes 2.0 infinite."""
    assert verdict(stages([{"temp": {"temp": 1e-45}}, *GREEDY], DEFINED), Refuses) == "undefined"
