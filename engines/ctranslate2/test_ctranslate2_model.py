"""ctranslate2: CTranslate2's sampling by hand."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.ctranslate2.model import Ctranslate2, survivors
from sampler_parity.reference import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError


def left(logits: list[float], top_k: int, top_p: float, temperature: float = 1.0) -> list[int]:
    row = np.array(logits, np.float32)
    ids, p = survivors(row, top_k, np.float32(top_p), np.float32(temperature))
    return [int(id) for id in ids[p > 0]]


def token(sampler: Ctranslate2, logits: list[float]) -> int | None:
    cand = Candidates.from_logits(np.array(logits, np.float32))
    sampler.apply(cand)
    return cand.token


def test_top_p_keeps_a_token_while_the_sum_before_it_is_below() -> None:
    logits = np.log([0.5, 0.25, 0.125, 0.125]).tolist()
    assert left(logits, 0, 0.5) == [0]
    assert left(logits, 0, 0.51) == [0, 1]
    assert left(logits, 0, 1e-30) == [0]
    assert left(logits, 2, 0.6) == [0]  # of the first two 2/3 and 1/3


def test_a_temperature_spreads_the_mass_behind_top_k_and_before_top_p() -> None:
    assert left([4.0, 0.0, 0.0], 0, 0.5) == [0]  # 0.96
    assert len(left([4.0, 0.0, 0.0], 0, 0.5, 8.0)) == 2  # 0.45, then 0.73


def test_penalties_go_by_sign_and_once_a_token() -> None:
    sampler = Ctranslate2(repetition_penalty=2.0)
    for seen in (0, 0, 1, 5):
        sampler.accept(seen)
    scores = sampler.processed(np.array([8.0, -8.0, 8.0], np.float32))
    assert scores.tolist() == [4.0, -16.0, 8.0]


@pytest.mark.parametrize(("size", "banned"), [(1, {1, 2}), (2, {2}), (3, set()), (4, set())])
def test_an_ngram_of_the_text_does_not_come_again(size: int, banned: set[int]) -> None:
    sampler = Ctranslate2(no_repeat_ngram_size=size)
    for seen in (1, 2, 1):
        sampler.accept(seen)
    assert {*np.flatnonzero(sampler.processed(np.zeros(4, np.float32)))} == banned


def test_a_text_that_is_read_takes_two_words_a_token() -> None:
    reads = Ctranslate2(sampling_topk=0, repetition_penalty=1.001, seed=5)
    plain = Ctranslate2(sampling_topk=0, seed=5)
    reads.accept(49)
    plain.rng.words(2)
    logits = [0.0] * 49 + [-100.0]  # the penalized one is never drawn
    assert token(reads, logits) == token(plain, logits)


def test_a_clone_goes_on_alone_and_a_reset_begins_again() -> None:
    sampler = Ctranslate2(sampling_topk=0, seed=5)
    first = [token(sampler, [0.0] * 50) for _ in range(4)]
    twin = sampler.clone()
    ahead = [token(twin, [0.0] * 50) for _ in range(4)]
    assert ahead == [token(sampler, [0.0] * 50) for _ in range(4)]
    sampler.reset()
    assert [token(sampler, [0.0] * 50) for _ in range(4)] == first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sampling_topp": 0.0}, "sampling_topp must be above 0 and at most 1, got 0.0"),
        ({"sampling_temperature": -1.0}, "sampling_temperature must not be below 0, got -1.0"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be above 0, got 0.0"),
    ],
)
def test_what_it_does_not_take_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ChainError, match=f"^{message}"):
        Ctranslate2(**parameters)


def test_a_top_k_beyond_the_vocabulary_and_a_nan_are_refused() -> None:
    sampler = Ctranslate2(sampling_topk=3)
    with pytest.raises(ChainError, match="sampling_topk must be at most the vocabulary's 2, got 3"):
        token(sampler, [0.0, 1.0])
    with pytest.raises(UndefinedInputError, match="no logits, or one that is NaN"):
        token(sampler, [0.0, float("nan")])
