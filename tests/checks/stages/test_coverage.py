from typing import Any

import pytest

from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.stages.blocks.campaign import classes_of
from tests.support.cases import ABOUT

INF = float("inf")


def facts(sampler: str, setting: dict[str, Any], values: list[float], **fields: Any) -> set[str]:
    chain = [{sampler: setting}]
    seen = classes_of(case_from(ABOUT, chain=chain, logits={"values": values}, **fields))
    return {fact.removeprefix(f"{sampler} ") for fact in seen if fact.startswith(sampler)}


@pytest.mark.parametrize(
    ("k", "values", "expected"),
    [
        (1, [1.0, 1.0, 0.0], {"survivors<2", "gap0", "tie at the cut"}),
        (2, [1.0, 1.0, 0.0], {"survivors<4", "gap0"}),
        (0, [1.0, 1.0, -INF], {"survivors<4", "gap0"}),
        (128, [0.01 * i for i in range(200)], {"survivors<256", "gap0", "cut at 128"}),
        (128, [0.01 * i for i in range(128)], {"survivors<256", "gap0"}),
    ],
)
def test_survivors_ties_and_cuts_of_the_first_block_are_classes(
    k: int, values: list[float], expected: set[str]
) -> None:
    assert facts("top_k", {"k": k}, values) == expected


@pytest.mark.parametrize(("gap", "number"), [(19, 0), (21, 1), (88, 2), (104, 3)])
def test_the_largest_gap_is_below_20_nats_small_subnormal_or_0(gap: float, number: int) -> None:
    assert f"gap{number}" in facts("dist", {"seed": 1}, [0.0, 1.0, 1.0 + gap])
