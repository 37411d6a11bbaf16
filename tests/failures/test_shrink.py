from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.shrink import SCREEN_TOKENS, shown, shrink
from sampler_parity.harness.inputs.logits import LiteralRows
from tests.support.cases import ABOUT, stages


def big() -> StagesCase:
    chain: list[Any] = [{"temp": {"temp": 0.7312}}, {"top_k": {"k": 17}}, {"dist": {"seed": 5}}]
    logits = {"family": "normal", "n": 2000, "seed": 1}
    return stages(chain, logits, history=list(range(40)), steps=6)


def test_shrink_keeps_only_what_the_failure_needs() -> None:
    def fails(case: StagesCase) -> bool:
        return "top_k" in case.samplers and case.logits.n >= 3

    small = shrink(big(), fails)
    assert small.samplers == ["top_k"]
    assert small.logits.n == 3
    assert (small.steps, small.history) == (1, [])
    assert isinstance(small.logits, LiteralRows)
    assert len(small.logits.rows[0]) <= SCREEN_TOKENS


def test_shrink_keeps_the_values_that_matter() -> None:
    def fails(case: StagesCase) -> bool:
        return bool((np.asarray(case.logits.row(0)) > 9).any())

    small = shrink(big(), fails)
    assert small.logits.n == 1
    assert small.logits.row(0)[0] > 9


def test_shrink_keeps_what_is_needed_of_prompt_and_output() -> None:
    failing = StagesCase.model_validate(
        big().model_dump() | {"history": [], "prompt": [1, 2, 3, 4, 3], "output": [5, 6, 3, 7]}
    )
    small = shrink(failing, lambda case: 3 in case.prompt and 6 in case.output)
    assert (small.prompt, small.output) == ([3], [6])


def test_shrink_leaves_a_case_alone_that_does_not_fail_again() -> None:
    assert shrink(big(), lambda _: False) == big()


def test_a_case_is_shown_without_defaults_and_with_the_fewest_digits_of_float32() -> None:
    logits = LiteralRows(rows=[[float(np.float32(0.1)), -0.0]])
    data = shown(big().model_copy(update={"logits": logits, "history": []}))
    assert data["logits"] == {"rows": [[0.1, -0.0]]}
    assert data["chain"][0] == {"temp": {"temp": 0.7312}}
    assert "history" not in data


def test_streams_without_a_seed_are_not_minimized_until_they_must_be_alike() -> None:
    chain = [{"dist": {"seed": 0xFFFFFFFF}}]
    case = case_from(big().model_dump(by_alias=True) | {"chain": chain})
    assert shrink(case, lambda _: True) == case


@pytest.mark.parametrize("tries", [0, 3])
def test_shrink_stops_after_so_many_tries_and_says_so(tries: int) -> None:
    calls, cut = list[StagesCase](), list[bool]()

    def fails(case: StagesCase) -> bool:
        calls.append(case)
        return len(calls) == 1

    shrink(big(), fails, tries, cut.append)
    assert len(calls) <= 1 + tries
    assert cut == [True]
    calls.clear()
    shrink(big(), fails, cut=cut.append)
    assert cut == [True]  # all simpler cases were tried


def test_parameters_in_the_chains_of_a_batch_become_simple() -> None:
    sequence = {"chain": [{"temp": {"temp": 0.7312}}, {"dist": {"seed": 77}}]}
    step = {"before": [["join", 0]], "sample": [{"at": 0, "row": 0}]}
    logits = {"families": ["normal"], "n": 8, "seed": 1}
    batch = {"sequences": [sequence], "steps": [step]}
    case = BatchCase.model_validate(ABOUT | {"logits": logits, "batch": batch})

    def fails(each: BatchCase) -> bool:
        return [next(iter(stage)) for stage in each.chains[0]] == ["temp", "dist"]

    assert shrink(case, fails).chains == [[{"temp": {"temp": 1.0}}, {"dist": {"seed": 0}}]]
