"""transformers' stages: the numbers of its own processors at 5.23.0, and what they refuse."""

import math
from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied

LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]
INF = math.inf
END = {"eos_token_id": [0, 9]}


# Recorded from transformers 5.23.0 with torch 2.13.0 behind the prompt 0, 2 and the output 1.
@pytest.mark.parametrize(
    ("name", "parameters", "recorded"),
    [
        (
            "transformers_repetition_penalty",
            {"penalty": 1.17, "prompt_ignore_length": 1},
            [2.7, -1.5209999, 0.7692308, 3.3, -0.0, 1.9, -2.2, 0.1],
        ),
        (
            "transformers_sequence_bias",
            {"sequence_bias": [[[1, 3], 0.3], [[3], 0.1], [[2, 1, 3], 0.7], [[6], -1.1]]},
            [2.7, -1.3, 0.9, 4.4, 0.0, 1.9, -3.3000002, 0.1],
        ),
    ],
    ids=["penalty", "bias"],
)
def test_logits_are_those_that_the_processor_computes(
    name: str, parameters: dict[str, Any], recorded: list[float]
) -> None:
    cand = applied(name, parameters, LOGITS, prompt=[0, 2], history=[1])
    assert cand.logits.tobytes() == np.array(recorded, np.float32).tobytes()


def test_an_id_beyond_the_scores_has_no_effect_and_a_negative_one_is_refused() -> None:
    half = {"penalty": 2.0}
    cand = applied("transformers_repetition_penalty", half, [2.0, 2.0], prompt=[2, 99, 1])
    assert cand.logits.tolist() == [2.0, 1.0]
    with pytest.raises(UndefinedInputError, match="no negative index"):
        applied("transformers_repetition_penalty", half, [2.0], prompt=[-1])


@pytest.mark.parametrize(
    ("name", "least", "prompt", "output", "banned"),
    [
        ("transformers_min_length", {"min_length": 3}, 2, 0, True),
        ("transformers_min_length", {"min_length": 3}, 2, 1, False),
        ("transformers_min_new_tokens", {"min_new_tokens": 3}, 2, 2, True),
        ("transformers_min_new_tokens", {"min_new_tokens": 3}, 2, 3, False),
    ],
    ids=["length 2 of 3", "length 3", "2 new of 3", "3 new"],
)
def test_the_end_is_banned_below_the_minimum(
    name: str, least: dict[str, int], prompt: int, output: int, banned: bool
) -> None:
    cand = applied(name, least | END, [1.0, 2.0], prompt=[1] * prompt, history=[1] * output)
    assert cand.logits.tolist() == [-INF if banned else 1.0, 2.0]


def test_a_bad_word_may_begin_in_the_prompt_and_is_no_end_of_text() -> None:
    words = {"bad_words_ids": [[1, 2, 3], [0]], "eos_token_id": [0]}
    cand = applied("transformers_no_bad_words", words, [0.0] * 4, prompt=[1], history=[2])
    assert cand.logits.tolist() == [0.0, 0.0, 0.0, -INF]


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("transformers_repetition_penalty", {"penalty": 0.0}, "must be above 0"),
        ("transformers_no_bad_words", {"bad_words_ids": []}, "no word that is no end-of-text"),
        (
            "transformers_no_bad_words",
            {"bad_words_ids": [[1]], "eos_token_id": [1]},
            "no word that is no end-of-text",
        ),
        ("transformers_sequence_bias", {"sequence_bias": []}, r"a list of \[ids, bias\]"),
        ("transformers_sequence_bias", {"sequence_bias": [[[], 1.0]]}, "must hold pairs"),
        ("transformers_sequence_bias", {"sequence_bias": [[[4], 1.0]]}, r"in 0\.\.3, got 4"),
        ("transformers_min_length", {"min_length": -1}, "min_length must be in 0"),
        ("transformers_min_new_tokens", {"min_new_tokens": -1}, "min_new_tokens must be in 0"),
    ],
)
def test_what_a_processor_refuses_is_refused(
    name: str, parameters: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ChainError, match=problem):
        applied(name, parameters, [0.0] * 4)
