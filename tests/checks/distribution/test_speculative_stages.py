"""The stages of a speculative round's distribution: the first wrong stage is named."""

from fractions import Fraction
from typing import Any

import pytest

from sampler_parity.harness.checks.distribution.speculative_stages import first_difference

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
# One drafted token, 0 or 1. 0 is accepted, and 0 follows; 1 is accepted every other time, and 1
# follows, else replaced by 0.
RIGHT: dict[Any, Any] = {
    ((0,), (0, 0)): HALF,
    ((1,), (1, 1)): QUARTER,
    ((1,), (0,)): QUARTER,
}


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (RIGHT, ""),
        (
            {((0,), (0, 0)): QUARTER, ((1,), (1, 1)): HALF, ((1,), (0,)): QUARTER},
            "draft 0: 0 has 0.25, not 0.5",
        ),
        (
            {**RIGHT, ((1,), (1, 1)): HALF * HALF * HALF, ((1,), (0,)): 3 * HALF**3},
            "accept 0: accepted behind (1,) has 0.25, not 0.5",
        ),
        (
            {**RIGHT, ((1,), (0,)): 0, ((1,), (1,)): QUARTER},
            "recover 0: 0 behind (1,) has 0, not 1",
        ),
        (
            {**RIGHT, ((0,), (0, 0)): 0, ((0,), (0, 1)): HALF},
            "bonus: 0 behind (0,) has 0, not 1",
        ),
        ({((0,), (0,)): HALF, ((1,), (1,)): HALF}, "bonus: no round has 2 tokens"),
        ({**RIGHT, ((0,), (1, 0)): HALF}, "shape: the draft (0,) gives (1, 0)"),
        ({**RIGHT, ((0,), ()): HALF}, "shape: the draft (0,) gives ()"),
        ({**RIGHT, ((0,), (0, 0, 0)): HALF}, "shape: the draft (0,) gives (0, 0, 0)"),
    ],
)
def test_the_first_wrong_stage_is_named_with_both_probabilities(
    distribution: Any, message: str
) -> None:
    assert first_difference(distribution, RIGHT).startswith(message)
    assert bool(first_difference(distribution, RIGHT)) == bool(message)


def test_rounding_of_float64_is_no_difference() -> None:
    rounded = {outcome: float(p) + 1e-13 for outcome, p in RIGHT.items()}
    assert first_difference(rounded, RIGHT) == ""
