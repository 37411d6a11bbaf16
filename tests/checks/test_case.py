"""harness/checks/case.py: each case is of one kind, and each kind has something that runs it."""

from typing import Any, get_args

import pytest

from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.case import Case, CaseKind
from sampler_parity.harness.checks.stages.prepared import prepare

GREEDY: list[dict[str, Any]] = [{"greedy": {}}]
DECODED = {"decoded": "small", "prompt": [1, 2]}
COMPUTED = {"computed": "small", "prompt": [1, 2]}


def case_of(chain: list[dict[str, Any]], logits: dict[str, Any], **options: Any) -> Case:
    about = {"id": "c", "description": "d", "why": "w"}
    return Case.model_validate({**about, "chain": chain, "logits": logits, **options})


@pytest.mark.parametrize(
    ("chain", "logits", "options", "kind"),
    [
        (GREEDY, {"values": [1.0, 2.0]}, {}, "stages"),
        ([], {"values": [1.0, 2.0]}, {}, "stages"),
        ([{"dist": {"seed": 1}}], {"values": [1.0, 2.0]}, {"draws": 5}, "draws"),
        (GREEDY, DECODED, {}, "generation"),
        (GREEDY, COMPUTED, {}, "on_device"),
        ([], COMPUTED, {}, "logits"),
    ],
    ids=["stages", "no-stages", "draws", "generation", "on-device", "logits"],
)
def test_kind_of_a_case_follows_from_its_logits_draws_and_chain(
    chain: list[dict[str, Any]], logits: dict[str, Any], options: dict[str, Any], kind: CaseKind
) -> None:
    assert case_of(chain, logits, **options).kind == kind


def test_every_kind_of_a_case_has_its_row() -> None:
    rows = {kind.called for kind in KINDS.values() if kind.noun == "cases"}
    assert rows == set(get_args(CaseKind))


def test_cost_is_values_through_stages_and_a_draw_costs_sixteen() -> None:
    assert case_of(GREEDY * 2, {"values": [1.0, 2.0]}, steps=3).cost == 2 * 3 * 2
    assert case_of([{"dist": {"seed": 1}}], {"values": [1.0]}, draws=5).cost == 80


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"history": [1], "prompt": [1]}, "give history, or prompt and output"),
        ({"history": [1], "output": [1]}, "give history, or prompt and output"),
        ({"prompt": [1], "draws": 5}, "prompt does not go with draws"),
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
