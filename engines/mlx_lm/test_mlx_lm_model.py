"""mlx_penalties and mlx_sampler: numbers of mlx-lm 0.32.2 with mlx 0.32.4, and what is refused."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.mlx_lm.model.arithmetic import exp
from sampler_parity.engines.mlx_lm.model.keys import Keys, threefry
from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of
from tests.support.applied import logs as logits_of

LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]


def test_threefry_gives_the_words_published_for_random123() -> None:
    # kat_vectors of Random123: threefry2x32 20, all zeros and all ones.
    for words, wanted in ((0, (0x6B200159, 0x99BA4EFE)), (0xFFFFFFFF, (0x1CB996FC, 0xBB002BE7))):
        counter = np.array([words], np.uint32)
        left, right = threefry((words, words), counter, counter)
        assert (int(left[0]), int(right[0])) == wanted


# Recorded: mx.random.seed(42), then uniform(0, 1, (3,)), and the key that is left.
def test_uniforms_and_the_key_behind_them_are_those_of_mlx() -> None:
    keys = Keys(42)
    recorded = [0.2851702570915222, 0.6119449138641357, 0.17565257847309113]
    assert keys.uniforms(3).tolist() == recorded
    assert keys.key == (2465931498, 3679230171)


def test_exp_is_that_of_mlx() -> None:
    recorded = [0.3678794503211975, 1.6487213373184204, 2.061153470123145e-09, 0.0]
    assert exp(np.array([-1.0, 0.5, -20.0, -90.0], np.float32)).tolist() == recorded


# Recorded behind the tokens 0, 1, 2, 1, 1.
def test_penalties_are_those_of_mlx() -> None:
    parameters = {"repetition_penalty": 1.17, "presence_penalty": 0.3, "frequency_penalty": 0.1}
    cand = applied(
        "mlx_penalties",
        parameters | {"frequency_context_size": 3},
        LOGITS,
        history=[0, 1, 2, 1, 1],
    )
    recorded = [2.007692575454712, -2.0209999084472656, 0.3692307770252228]
    assert cand.logits[:3].tolist() == recorded
    assert cand.logits[3:].tolist() == np.array(LOGITS[3:], np.float32).tolist()


# Recorded: log-probabilities, and the tokens of make_sampler(temp=0.8, top_p=0.9) with seed 7.
def test_log_probabilities_and_tokens_are_those_of_mlx() -> None:
    cand = applied("mlx_sampler", {"seed": 7, "temp": 1.0}, LOGITS)
    assert cand.logits[:2].tolist() == [-1.2820408344268799, -5.282040596008301]
    chain = chain_of(("mlx_sampler", {"seed": 7, "temp": 0.8, "top_p": 0.9}), n_vocab=8)
    tokens = []
    for _ in range(12):
        cand = type(cand).from_logits(LOGITS)
        chain.apply(cand)
        tokens.append(cand.token)
    assert tokens == [0, 5, 0, 0, 3, 0, 3, 3, 0, 3, 3, 3]


# 0.5 above token 1, 0.75 above token 2: at 0.75 that is as much as top_p.
@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        ({"top_p": 0.75}, [0, 1]),
        ({"top_p": 0.76}, [0, 1, 2]),
        ({"top_p": 0.0}, [0, 1, 2, 3, 4]),
        ({"min_p": 0.25}, [0, 1, 2]),
        ({"top_k": 4}, [0, 1, 2, 3]),
        ({"xtc_probability": 1.0, "xtc_threshold": 0.1}, [2, 3, 4]),
        ({"top_k": 1, "temp": 0.0}, [0, 1, 2, 3, 4]),
    ],
    ids=["top_p at", "top_p above", "top_p off", "min_p", "top_k tie", "xtc", "greedy"],
)
def test_filters_by_hand(parameters: dict[str, Any], left: list[int]) -> None:
    logits = logits_of(0.5, 0.25, 0.125, 0.0625, 0.0625)
    cand = applied("mlx_sampler", {"seed": 1, "temp": 1.0} | parameters, logits)
    assert np.flatnonzero(cand.logits > -np.inf).tolist() == left


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("mlx_penalties", {"repetition_penalty": -1.0}, "must not be negative"),
        ("mlx_sampler", {"seed": 1, "top_p": 1.5}, "top_p must be in 0..1"),
        ("mlx_sampler", {"seed": 1, "xtc_threshold": 0.6}, "xtc_threshold must be in 0..0.5"),
        ("mlx_sampler", {"seed": -1}, "seed must be in 0.."),
        ("mlx_sampler", {"seed": 1, "temp": float("inf")}, "temp must be finite"),
    ],
    ids=["penalty", "top_p", "xtc", "seed", "temp"],
)
def test_parameters_that_mlx_refuses_are_refused(
    name: str, parameters: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ChainError, match=problem):
        applied(name, parameters, [0.0, 1.0])


@pytest.mark.parametrize(
    ("parameters", "logits", "problem"),
    [
        ({"top_k": 2}, [0.0, 1.0], "top_k is beyond"),
        ({"min_p": 0.1, "min_tokens_to_keep": 3}, [0.0, 1.0], "min_tokens_to_keep is beyond"),
        ({}, [-np.inf, -np.inf], "log-probabilities of NaN"),
        ({}, [np.inf, 0.0], "log-probabilities of NaN"),
        ({"top_p": 1e-60}, [0.0, 1.0], "reads beyond the row"),
    ],
    ids=["top_k", "min_keep", "nothing", "inf", "tiny top_p"],
)
def test_rows_that_mlx_refuses_are_refused(
    parameters: dict[str, Any], logits: list[float], problem: str
) -> None:
    with pytest.raises(UndefinedInputError, match=problem):
        applied("mlx_sampler", {"seed": 1, "temp": 1.0} | parameters, logits)


def test_a_token_beyond_the_vocabulary_is_refused() -> None:
    with pytest.raises(UndefinedInputError, match="reads beyond the row"):
        applied("mlx_penalties", {"presence_penalty": 1.0}, [0.0, 1.0], history=[2])
