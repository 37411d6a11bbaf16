"""docs/background/penalties.md: the numbers of its example are the reference's."""

from typing import Any

import pytest

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.reference import Candidates
from tests.support.command_line import ROOT

PROMPT, OUTPUT = [0, 0, 2], [1, 1, 2, 3]
NATIVE = {"penalty_repeat": 2.0, "penalty_freq": 0.5, "penalty_present": 0.25}
ALL = {"repetition_penalty": 2.0, "frequency_penalty": 0.5, "presence_penalty": 0.25}
WITHOUT_REPETITION = {"frequency_penalty": 0.5, "presence_penalty": 0.25}
HALF = {"penalty": 2.0}

# For each row of the page: the stage, and the prompt that it gets.
STAGES: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "llama.cpp, prompt accepted": ("penalties", NATIVE | {"penalty_last_n": 64}, PROMPT),
    "llama.cpp, window of 3": ("penalties", NATIVE | {"penalty_last_n": 3}, PROMPT),
    "llama.cpp, prompt not accepted": ("penalties", NATIVE | {"penalty_last_n": 64}, []),
    "vLLM": ("vllm_penalties", ALL, PROMPT),
    "OpenAI": ("openai_penalties", WITHOUT_REPETITION, PROMPT),
    "transformers": ("transformers_repetition_penalty", HALF, PROMPT),
    "transformers, prompt ignored": (
        "transformers_repetition_penalty",
        HALF | {"prompt_ignore_length": 3},
        PROMPT,
    ),
}


def rows() -> dict[str, list[float]]:
    """The rows of the example, by their first cell."""
    page = (ROOT / "docs" / "background" / "penalties.md").read_text()
    example = page.partition("### One example")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in example.splitlines() if line[:1] == "|"]
    return {name: [float(value) for value in values] for name, *values in cells[2:]}


def test_every_row_of_the_example_is_computed() -> None:
    assert set(rows()) == {"logits", *STAGES}


@pytest.mark.parametrize("name", STAGES)
def test_a_row_of_the_example_is_what_the_reference_leaves(name: str) -> None:
    stage, parameters, prompt = STAGES[name]
    chain = build_chain([{stage: parameters}], n_vocab=5)
    for token in prompt:
        chain.accept_prompt(token)
    for token in OUTPUT:
        chain.accept(token)
    cand = Candidates.from_logits(rows()["logits"])
    chain.apply(cand)
    assert cand.logits.tolist() == rows()[name]
