"""onnxruntime_genai: ONNX Runtime GenAI's search by hand."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.onnxruntime_genai.model import OnnxruntimeGenai, survivors
from sampler_parity.reference import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError


def left(logits: list[float], top_k: int, top_p: float, temperature: float = 1.0) -> list[int]:
    row = np.array(logits, np.float32)
    ids, _ = survivors(row, top_k, np.float32(top_p), np.float32(temperature))
    return [int(id) for id in ids]


def token(sampler: OnnxruntimeGenai, logits: list[float]) -> int | None:
    cand = Candidates.from_logits(np.array(logits, np.float32))
    sampler.apply(cand)
    return cand.token


def test_top_p_is_of_what_top_k_leaves_and_the_token_that_reaches_it_stays() -> None:
    # 1/2, 1/4, 1/8, 1/8: of the first two 2/3 and 1/3
    logits = np.log([0.5, 0.25, 0.125, 0.125]).tolist()
    assert left(logits, 2, 0.6) == [0]
    assert left(logits, 2, 0.7) == [0, 1]
    assert left(logits, 2, 0.0) == left(logits, 2, 1.0) == [0, 1]


def test_without_top_k_what_is_behind_is_bounded_from_65_tokens_on() -> None:
    # e = 1, 1/2, and 63 of 2^-20: the sum is 1.5, of which 1 is two thirds. The bound behind the
    # first is 64 times 1, so it is not enough there; behind the second 63 times 1/2, nor there
    few, many = [[0.0, -0.6931472, *[-13.862944] * n] for n in (62, 63)]
    assert left(few, 0, 0.6) == [0]
    assert len(left(many, 0, 0.6)) == 3


def test_top_p_of_zero_without_top_k_leaves_the_largest() -> None:
    assert left([0.0, 2.0, 1.0], 0, 0.0) == [1]


def test_a_temperature_spreads_the_mass_before_top_p() -> None:
    assert left([4.0, 0.0, 0.0], 3, 0.5) == [0]  # 0.96
    assert len(left([4.0, 0.0, 0.0], 3, 0.5, 8.0)) == 2  # 0.45, then 0.73


def test_penalties_go_by_sign_and_once_a_token() -> None:
    sampler = OnnxruntimeGenai(repetition_penalty=2.0)
    for seen in (0, 0, 1, 5):
        sampler.accept(seen)
    scores = sampler.processed(np.array([8.0, -8.0, 8.0], np.float32))
    assert scores.tolist() == [4.0, -16.0, 8.0]


def test_the_end_is_the_lowest_number_until_the_text_is_long_enough() -> None:
    sampler = OnnxruntimeGenai(min_length=1, eos_token_id=[1, 9])
    row = np.array([0.0, 5.0], np.float32)
    assert sampler.processed(row).tolist() == [0.0, float(np.finfo(np.float32).min)]
    sampler.accept(0)
    assert sampler.processed(row).tolist() == [0.0, 5.0]


@pytest.mark.parametrize(("size", "banned"), [(1, {1, 2}), (2, {2}), (3, set()), (4, set())])
def test_an_ngram_of_the_text_does_not_come_again(size: int, banned: set[int]) -> None:
    sampler = OnnxruntimeGenai(no_repeat_ngram_size=size)
    for seen in (1, 2, 1):
        sampler.accept(seen)
    scores = sampler.processed(np.zeros(4, np.float32))
    assert {*np.flatnonzero(scores)} == banned


def test_a_clone_goes_on_alone_and_a_reset_begins_again() -> None:
    sampler = OnnxruntimeGenai(do_sample=True, top_k=0, top_p=1.0, random_seed=5)
    logits = [0.0] * 50
    first = [token(sampler, logits) for _ in range(4)]
    twin = sampler.clone()
    assert [token(twin, logits) for _ in range(4)] == [token(sampler, logits) for _ in range(4)]
    sampler.reset()
    assert [token(sampler, logits) for _ in range(4)] == first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"do_sample": 1}, "do_sample must be true or false, got 1"),
        ({"top_p": 1.5}, "top_p must be in 0..1, got 1.5"),
        ({"temperature": -1.0}, "temperature must not be below 0, got -1.0"),
        ({"eos_token_id": []}, "eos_token_id must have an id: without one it is the padding's"),
    ],
)
def test_what_it_does_not_take_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ChainError, match=f"^{message}"):
        OnnxruntimeGenai(**parameters)


def test_a_top_k_beyond_the_vocabulary_and_a_nan_are_refused() -> None:
    sampler = OnnxruntimeGenai(do_sample=True, top_k=3)
    with pytest.raises(ChainError, match="top_k must be at most the vocabulary's 2, got 3"):
        token(sampler, [0.0, 1.0])
    with pytest.raises(UndefinedInputError, match="no logits, or one that is NaN"):
        token(sampler, [0.0, float("nan")])
