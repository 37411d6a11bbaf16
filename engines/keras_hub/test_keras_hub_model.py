"""keras_hub_random, keras_hub_top_k and keras_hub_top_p by hand, and what is refused."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


# 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are.
@pytest.mark.parametrize(
    ("sampler", "parameters", "p"),
    [
        ("random", {}, [0.5, 0.25, 0.125, 0.125]),
        ("random", {"temperature": 0.5}, [16 / 22, 4 / 22, 1 / 22, 1 / 22]),
        ("random", {"temperature": -1.0}, [1 / 11, 2 / 11, 4 / 11, 4 / 11]),
        ("top_k", {"k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ("top_k", {"k": 4}, [0.5, 0.25, 0.125, 0.125]),
        ("top_k", {"k": 0}, [0.5, 0.25, 0.125, 0.125]),
        ("top_k", {"k": -2}, [2 / 3, 1 / 3, 0, 0]),
        ("top_p", {}, [1, 0, 0, 0]),
        ("top_p", {"p": 0.49}, [1, 0, 0, 0]),
        ("top_p", {"p": 0.5}, [2 / 3, 1 / 3, 0, 0]),
        ("top_p", {"p": 0.74}, [2 / 3, 1 / 3, 0, 0]),
        ("top_p", {"p": -1.0}, [1, 0, 0, 0]),
        ("top_p", {"p": 1.0}, [0.5, 0.25, 0.125, 0.125]),
        ("top_p", {"p": 1.0, "k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ("top_p", {"p": 1.0, "k": 9}, [0.5, 0.25, 0.125, 0.125]),
        ("top_p", {"p": 1.0, "k": -2}, [2 / 3, 1 / 3, 0, 0]),
    ],
    ids=str,
)
def test_p_by_hand(sampler: str, parameters: dict[str, Any], p: list[float]) -> None:
    logits = logs(0.5, 0.25, 0.125, 0.125)
    cand = applied(f"keras_hub_{sampler}", {"seed": 1} | parameters, logits)
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


def test_each_draw_has_a_generator_seeded_with_the_seed_and_the_count() -> None:
    # random() of NumPy's default_rng([7, 0]), ([7, 1]), ([7, 2]), below 1/2 the first of two.
    numbers = [np.random.default_rng([7, count]).random() for count in range(3)]
    chain = chain_of(("keras_hub_random", {"seed": 7}), n_vocab=2)
    tokens = []
    for _ in numbers:
        cand = applied("greedy", {}, [0.0, 0.0])
        chain.apply(cand)
        tokens.append(cand.token)
    assert tokens == [int(number >= 0.5) for number in numbers]


def test_the_token_is_counted_among_what_top_k_took() -> None:
    cand = applied("keras_hub_top_k", {"seed": 1, "k": 1}, [0.0, 9.0, 1.0])
    assert cand.token == 1


def test_what_numpy_refuses_is_refused() -> None:
    for stage, parameters, why in (
        ("random", {"temperature": 0.0}, "contain NaN"),
        ("top_k", {"k": 3}, "k 3 of 2 tokens"),
        ("top_k", {"k": -2}, "k -2 of 2 tokens"),
        ("top_p", {"k": 0}, "no token is left of 2"),
        ("top_p", {"k": -2}, "no token is left of 2"),
    ):
        with pytest.raises(UndefinedInputError, match=why):
            applied(f"keras_hub_{stage}", {"seed": 1} | parameters, [0.0, 1.0])
    with pytest.raises(ChainError, match="temperature must be finite"):
        applied("keras_hub_random", {"seed": 1, "temperature": float("inf")}, [0.0])
