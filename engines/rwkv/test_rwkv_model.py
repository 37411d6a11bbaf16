"""rwkv_penalties and rwkv_sample_logits by hand, and what is refused."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.torch_cpu import softmax
from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


# 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are.
@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({"top_p": 0.75}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.76}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.0}, [1, 0, 0, 0]),
        ({"top_p": 1.5}, [1, 0, 0, 0]),
        ({"top_p": 0.9, "top_k": 1}, [1, 0, 0, 0]),
        ({"top_p": 0.9, "top_k": -1}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.75, "temperature": 0.5}, [0.8, 0.2, 0, 0]),
        ({"temperature": 0.0, "top_k": 0}, [1, 0, 0, 0]),
    ],
    ids=["at", "tie", "zero", "never reached", "top_k", "top_k off", "power", "greedy"],
)
def test_p_by_hand(parameters: dict[str, Any], p: list[float]) -> None:
    logits = logs(0.5, 0.25, 0.125, 0.125)
    cand = applied("rwkv_sample_logits", {"seed": 1} | parameters, logits)
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


def test_the_token_is_the_first_whose_running_sum_is_above_the_number_of_numpy() -> None:
    # random_sample behind np.random.seed(1): 0.417022, 0.720324, 0.000114.
    chain = chain_of(("rwkv_sample_logits", {"seed": 1, "top_p": 0.99}), n_vocab=2)
    tokens = []
    for _ in range(3):
        cand = applied("greedy", {}, [0.0, 0.0])
        chain.apply(cand)
        tokens.append(cand.token)
    assert tokens == [0, 1, 0]


def test_eight_sums_are_added_one_after_the_other_and_the_rest_goes_to_the_first() -> None:
    # exp is 1 for the first and 2**-25 elsewhere: each alone vanishes next to 1, together in a
    # lane of their own they do not. 15 of them: lane 0 loses one, the seven others hold two each,
    # which are 2**-24, half a last bit of 1, and 1 stays 1 (ties to even).
    tiny = np.float32(np.log(2.0**-25))
    p = softmax(np.array([0.0] + [tiny] * 15, np.float32))
    assert p[0] == 1
    # A lane holds four of 32, 2**-23: a last bit of 1.
    p = softmax(np.array([0.0] + [tiny] * 31, np.float32))
    assert p[0] < 1


# 1 - 0.5 - 0.25 * (occurrences): of 0, 0, 1 with decay 1/2, token 0 has (1/2 + 1) / 2.
def test_penalties_by_hand() -> None:
    parameters: dict[str, Any] = {
        "alpha_presence": 0.5,
        "alpha_frequency": 0.25,
        "alpha_decay": 0.5,
    }
    parameters |= {"token_ban": [2], "weightless": [1]}
    cand = applied("rwkv_penalties", parameters, [1.0] * 4, prompt=[3], history=[0, 0, 1])
    assert cand.logits.tolist() == [1 - 0.5 - 0.25 * 0.75, 0.5, -np.inf, 1.0]


def test_what_numpy_and_torch_refuse_is_refused() -> None:
    for parameters in ({"temperature": 0.01}, {"temperature": -1.0, "top_p": 0.2}):
        with pytest.raises(UndefinedInputError, match="contain NaN"):
            applied("rwkv_sample_logits", {"seed": 1} | parameters, logs(0.25, 0.3, 0.25, 0.2))
    with pytest.raises(UndefinedInputError, match="torch refuses"):
        applied("rwkv_penalties", {}, [0.0, 1.0], history=[2])
    with pytest.raises(ChainError, match="temperature must be finite"):
        applied("rwkv_sample_logits", {"seed": 1, "temperature": float("inf")}, [0.0])
