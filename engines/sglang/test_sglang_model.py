"""sglang_penalties and sglang_sample by hand, by published numbers and by SGLang's own draws."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.sglang.model.sample import finished, mixed
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("word", "published"),
    [(0, 0x2362F9DE), (0x74736574, 0xBA6BD213)],
    ids=["four zero bytes", "test"],
)
def test_the_hash_is_murmur3_of_32_bits_as_published(word: int, published: int) -> None:
    hashed = mixed(np.zeros(1, np.uint64), np.array([word], np.uint64))
    assert finished(hashed ^ np.uint64(4)).tolist() == [published]


# Tokens of sglang 0.5.23 itself, logits 0.0, 0.5, 1.0, 1.5, at the positions from 0 on.
RECORDED = {
    (0, 1.0): [2, 3, 3, 2, 0, 1, 3, 2, 0, 3, 3, 1, 2, 0, 3, 1],
    (0, 0.9): [3, 2, 3, 1, 3, 2, 3, 3, 3, 3, 0, 2, 3, 3, 0, 3],
    (-1, 1.0): [1, 3, 3, 0, 1, 0, 3, 2, 0, 0, 2, 3, 2, 2, 3, 0],
    (1311768467463790320, 0.9): [2, 1, 2, 3, 0, 2, 0, 2, 1, 3, 2, 3, 0, 1, 2, 2],
}


@pytest.mark.parametrize(("seed", "top_p"), RECORDED)
def test_the_reference_draws_the_tokens_that_sglang_drew(seed: int, top_p: float) -> None:
    chain = build_chain([{"sglang_sample": {"seed": seed, "top_p": top_p}}], n_vocab=4)
    drawn = []
    for _ in RECORDED[seed, top_p]:
        candidates = Candidates.from_logits(np.array([0, 0.5, 1, 1.5], np.float32))
        chain.apply(candidates)
        drawn.append(candidates.token)
    assert drawn == RECORDED[seed, top_p]


# 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are.
@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({"top_p": 0.5}, [0.5, 0.25, 0, 0]),
        ({"top_p": 0.49}, [0.5, 0, 0, 0]),
        ({"top_k": 3}, [0.5, 0.25, 0.125, 0]),
        ({"top_k": 2, "top_p": 0.6}, [0.5, 0.25, 0, 0]),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"temperature": 0.5}, [8 / 11, 2 / 11, 0.5 / 11, 0.5 / 11]),
    ],
    ids=["at", "below", "top_k", "of the whole", "greedy", "temperature"],
)
def test_p_by_hand(parameters: dict[str, Any], p: list[float]) -> None:
    cand = applied("sglang_sample", {"seed": 1} | parameters, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"temperature": -0.5},
        {"top_k": 0},
        {"top_k": -2},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"min_p": 1.5},
        {"min_p": -0.1},
        {"seed": 2**63},
    ],
    ids=str,
)
def test_what_sglang_refuses_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ChainError):
        chain_of(("sglang_sample", {"seed": 1} | parameters), n_vocab=2)


def test_a_repetition_penalty_beyond_two_is_refused() -> None:
    with pytest.raises(ChainError, match=r"in \(0, 2\]"):
        chain_of(("sglang_penalties", {"repetition_penalty": 2.5}), n_vocab=2)


def test_min_p_and_a_seed_are_refused_unless_the_request_is_greedy() -> None:
    with pytest.raises(UndefinedInputError, match="asserts that there is no seed"):
        applied("sglang_sample", {"seed": 1, "min_p": 0.1}, [0.0, 1.0])
    greedy = {"seed": 1, "min_p": 0.1, "temperature": 0.0}
    assert applied("sglang_sample", greedy, [0.0, 1.0]).token == 1


def test_what_is_added_comes_before_the_factor_and_the_prompt_counts_for_nothing() -> None:
    parameters = {"presence_penalty": 1.0, "repetition_penalty": 2.0}
    chain = chain_of(("sglang_penalties", parameters), n_vocab=3)
    chain.accept_prompt(2)
    chain.accept(0)
    chain.accept(1)
    candidates = Candidates.from_logits(np.array([3, 0.5, 3], np.float32))
    chain.apply(candidates)
    assert candidates.logits.tolist() == [1.0, -1.0, 3.0]  # (3 - 1) / 2; (0.5 - 1) * 2


def test_a_token_beyond_the_vocabulary_is_refused() -> None:
    chain = chain_of(("sglang_penalties", {"presence_penalty": 1.0}), n_vocab=2)
    chain.accept(2)
    with pytest.raises(UndefinedInputError, match="token 2 in a vocabulary of 2"):
        chain.apply(Candidates.from_logits(np.zeros(2, np.float32)))
