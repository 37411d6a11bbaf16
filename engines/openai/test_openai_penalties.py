"""openai_penalties: the documented formula over what was sampled."""

from typing import Any

import pytest

from sampler_parity.reference import ChainError
from tests.support.applied import applied


def test_counts_are_of_what_was_sampled() -> None:
    # 4 - 3 * 0.5 - 0.25; 4 - 1 * 0.5 - 0.25; the prompt's token keeps its 4
    both = {"frequency_penalty": 0.5, "presence_penalty": 0.25}
    cand = applied("openai_penalties", both, [4.0] * 3, prompt=[2, 2], history=[0, 1, 0, 0])
    assert cand.logits.tolist() == [2.25, 3.25, 4.0]


def test_a_sampled_id_that_is_no_candidate_has_no_effect() -> None:
    cand = applied("openai_penalties", {"presence_penalty": 1.0}, [4.0, 4.0], history=[-1, 7, 1])
    assert cand.logits.tolist() == [4.0, 3.0]


@pytest.mark.parametrize("parameter", ["frequency_penalty", "presence_penalty"])
@pytest.mark.parametrize("value", [2.001, -2.001, float("nan"), "1"])
def test_what_lies_outside_the_documented_range_is_refused(parameter: str, value: Any) -> None:
    with pytest.raises(ChainError, match=parameter):
        applied("openai_penalties", {parameter: value}, [0.0])
