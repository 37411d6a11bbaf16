"""What must hold of every answer: a right server's answers pass, and their faults are named."""

from typing import Any

import pytest

from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.invariants import broken
from sampler_parity.programs.servers.read_answer import read_answer

VLLM = DIALECTS["vllm"]


def names(sent: dict[str, Any], choice: dict[str, Any]) -> list[str]:
    data = {"choices": [{"finish_reason": "length", "text": "a b", **choice}]}
    return [name for name, _ in broken(VLLM, read_answer(VLLM, sent, data))]


def logprobs(chosen: float) -> dict[str, Any]:
    top = {"token_id:343": -8.36, "token_id:1": -1.9, "token_id:13": -2.01}
    return {
        "tokens": ["token_id:343"], "token_logprobs": [chosen], "top_logprobs": [top],
    }  # fmt: skip


def test_a_map_of_probabilities_has_no_order_but_has_the_chosen_tokens_value() -> None:
    assert names({}, {"logprobs": logprobs(-8.36)}) == []
    assert names({}, {"logprobs": logprobs(-7.0)}) == ["probabilities"]


@pytest.mark.parametrize(("choices", "wrong"), [(2, []), (1, ["ending"])])
def test_the_count_of_tokens_is_the_sum_of_all_answers(choices: int, wrong: list[str]) -> None:
    choice = {"finish_reason": "length", "text": "a b"}
    data = {"choices": [choice] * choices, "usage": {"completion_tokens": 44, "total_tokens": 44}}
    answer = read_answer(VLLM, {"max_tokens": 24}, data)
    assert [name for name, _ in broken(VLLM, answer)] == wrong


@pytest.mark.parametrize(("sent", "wrong"), [({}, ["ending"]), ({"min_tokens": 8}, [])])
def test_a_stop_string_may_be_in_the_text_before_the_smallest_number_of_tokens(
    sent: dict[str, Any], wrong: list[str]
) -> None:
    assert names({"stop": [" "], **sent}, {}) == wrong
