"""What failing cases have and passing ones lack is stated; what may be by chance is not."""

from typing import Any

import pytest

from sampler_parity.harness.bundle.records import CounterexampleResult, Known
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.contrast import contrast, with_contrast
from tests.support.cases import stages
from tests.support.report_bundles import case, diverged, got


def numbered(n: int, k: int = 3, **fields: Any) -> StagesCase:
    """Return a case of n equal logits under temp and top_k."""
    return stages(
        [{"temp": {}}, {"top_k": {"k": k}}], [0.0] * n, id=f"{n}-{k}-{len(fields)}", **fields
    )


PASSING = [numbered(n, k) for n in range(1, 41) for k in (2, 5)]


@pytest.mark.parametrize(
    ("failing", "passing", "text"),
    [
        (
            [numbered(n) for n in range(64, 72)], PASSING,
            "number of candidates 64 or more (40 passes): 8 of 8 failing cases, "
            "0 of 80 passing ones",
        ),
        (
            [numbered(n, 9) for n in range(1, 9)], PASSING,
            "top_k's k 9 (5 passes): 8 of 8 failing cases, 0 of 80 passing ones",
        ),
        (
            [numbered(n, k, script="reset") for n in range(2, 6) for k in (2, 5)],
            [*PASSING, numbered(50, 2, script="reset")],
            "the script reset: 8 of 8 failing cases, 1 of 81 passing ones",
        ),
        (
            [numbered(n, history=[7] * 20) for n in range(8, 16)],
            [numbered(n, history=[7] * n) for n in range(8, 19)] * 8,
            "tokens accepted before 20 (18 passes): 8 of 8 failing cases, 0 of 88 passing ones",
        ),
    ],
)  # fmt: skip
def test_the_bound_that_all_failing_cases_keep_is_stated(
    failing: list[StagesCase], passing: list[StagesCase], text: str
) -> None:
    assert str(contrast(failing, passing)) == text


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ([numbered(64), numbered(65)], PASSING),
        ([numbered(64), numbered(65), numbered(66)], PASSING[:20]),
        ([numbered(n, 2 + n % 2 * 3) for n in range(11, 26)], PASSING),
        ([numbered(n) for n in range(64, 72)], []),
    ],
    ids=["two cases", "by chance", "nothing in common", "none passes"],
)
def test_nothing_is_stated_where_it_shows_little(
    failing: list[StagesCase], passing: list[StagesCase]
) -> None:
    assert contrast(failing, passing) is None


@pytest.mark.parametrize("known", [[], [Known(name="a", fault="b", explains=3, tried=3)]])
def test_the_largest_group_of_a_stage_states_it_unless_a_planted_fault_is_known(
    known: list[Known],
) -> None:
    failing = [numbered(n) for n in range(64, 72)]
    by_id = {member.id: member for member in (*failing, *PASSING)}
    wrong = {"mine": diverged(stage="top_k", what="ids")}
    rare = {"mine": got("crashed", stage="top_k")}
    samplers = ["temp", "top_k"]
    judged = [case(passed.id, {"mine": got("identical")}, samplers=samplers) for passed in PASSING]
    judged += [case(member.id, wrong, samplers=samplers) for member in failing[1:]]
    judged += [case(failing[0].id, rare, samplers=samplers)]
    records = [
        CounterexampleResult(
            id=f"{result.id} on mine",
            case=result.id,
            backend="mine",
            result=result.backends["mine"],
            known=known,
        )
        for result in (judged[-1], judged[-2])
    ]
    values = [
        r.result.values.get("only with", "")
        for r in with_contrast(records, judged, by_id)
        if r.result
    ]
    expected = "" if known else "number of candidates 64 or more (40 passes)"
    assert [text.partition(":")[0] for text in values] == ["", expected]
