"""harness/checks/case.py: each case is of one kind, and each kind has a runner."""

from typing import Any, get_args

import pytest

from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.cases import AnyCase, case_from
from sampler_parity.harness.checks.stages.prepared import prepare
from tests.support.cases import ABOUT

GREEDY: list[dict[str, Any]] = [{"greedy": {}}]
DECODED = {"decoded": "small", "prompt": [1, 2]}
COMPUTED = {"computed": "small", "prompt": [1, 2]}


def case_of(chain: list[dict[str, Any]], logits: Any, **options: Any) -> Any:
    return case_from(ABOUT | {"chain": chain, "logits": logits} | options)


@pytest.mark.parametrize(
    ("chain", "logits", "options", "kind"),
    [
        (GREEDY, {"values": [1.0, 2.0]}, {}, "stages"),
        ([], {"values": [1.0, 2.0]}, {}, "stages"),
        ([{"dist": {"seed": 1}}], {"values": [1.0, 2.0]}, {"draws": 5}, "draws"),
        (GREEDY, DECODED, {}, "generation"),
        (GREEDY, COMPUTED, {}, "devices"),
        ([], COMPUTED, {}, "logits"),
    ],
    ids=["stages", "no-stages", "draws", "generation", "on-device", "logits"],
)
def test_kind_of_a_case_follows_from_its_logits_draws_and_chain(
    chain: list[dict[str, Any]], logits: dict[str, Any], options: dict[str, Any], kind: str
) -> None:
    assert case_of(chain, logits, **options).check == kind


def test_every_kind_of_a_case_has_its_row() -> None:
    union, _ = get_args(AnyCase)
    kinds = [get_args(member)[1].tag for member in get_args(union)]
    assert kinds == [get_args(member)[0].check for member in get_args(union)]
    assert {*kinds} == {name for name, kind in KINDS.items() if kind.noun == "cases"}


def test_cost_is_values_through_stages_and_a_draw_costs_sixteen() -> None:
    assert case_of(GREEDY * 2, {"values": [1.0, 2.0]}, steps=3).cost == 2 * 3 * 2
    assert case_of([{"dist": {"seed": 1}}], {"values": [1.0]}, draws=5).cost == 80


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"history": [1], "prompt": [1]}, "give history, or prompt and output"),
        ({"history": [1], "output": [1]}, "give history, or prompt and output"),
        ({"prompt": [1], "draws": 5}, "prompt: not allowed with draws"),
    ],
)
def test_a_case_has_one_past(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        case_of(GREEDY, {"values": [1.0, 2.0]}, **options)


def test_prompt_and_output_are_a_history_for_who_does_not_tell_them_apart() -> None:
    case = case_of(GREEDY, {"values": [1.0, 2.0]}, prompt=[3, 1], output=[2])
    setting = prepare(case).setting
    assert (case.past, setting.history, setting.n_prompt) == ([3, 1, 2], [3, 1, 2], 0)
    assert case_of(GREEDY, {"values": [1.0]}, history=[4]).past == [4]
