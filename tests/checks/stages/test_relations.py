"""Relations: requirements on another run on the same backend."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.stages.targets import sums_to_one
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.reference.samplers.dist import Dist
from tests.support.cases import stages
from tests.support.inside import Inside, last_result_of
from tests.support.other_sort import OtherSort


@pytest.mark.parametrize(
    ("p", "holds"),
    [
        ([0.5, 0.25, 0.25], True),
        ([0.1] * 10, True),  # float32 of a tenth is 1.5e-9 too much
        ([0.5, 0.25], False),
        ([0.5, 0.5, 1.2e-7], True),  # a float32 sum of three
        ([0.5, 0.5, 2.4e-7], False),
        ([np.nan, 1.0], False),
    ],
    ids=["exact", "rounded", "a part", "summed in float32", "more", "nan"],
)
def test_p_adds_up_to_one_but_for_its_rounding(p: list[float], holds: bool) -> None:
    assert sums_to_one(np.array(p, np.float32)) is holds


@pytest.mark.parametrize(
    ("of_class", "verdict"),
    [(Dist, "identical"), (MUTANTS["dist/takes-p-as-it-is"].make, "diverged")],
)
def test_a_draw_that_is_right_alone_is_asked_behind_a_filter_too(
    of_class: type[Dist], verdict: str
) -> None:
    dist: dict[str, Any] = {"dist": {"seed": 1}}
    relation = {"kind": "sums_to_one", "chain": [{"top_p": {"p": 0.6}}, dist]}
    of = stages([dist], {"probs": [0.5, 0.25, 0.125, 0.125]}, relation=relation)
    got = last_result_of(of, Inside(OtherSort({"dist": of_class}), name="mine"))
    assert (got.verdict, got.stage) == (verdict, "" if verdict == "identical" else "relation")
