"""tinygrad: its noise by published and exact values, its model by hand, and chains in its words."""

import math
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.threefry import threefry
from sampler_parity.engines.tinygrad import noise
from sampler_parity.engines.tinygrad.worker import options_of
from sampler_parity.harness.errors import Unsupported
from tests.support.applied import applied, chain_of

ONES = 0xFFFFFFFF
# Known answers of Threefry-2x32 with 20 rounds, from the Random123 library.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_threefry_has_the_published_answers(counter: Any, key: Any, answer: Any) -> None:
    low, high = (np.array([word], np.uint32) for word in counter)
    x, y = threefry(low, high, key)
    assert (int(x[0]), int(y[0])) == answer


def test_numbers_are_multiples_of_2_to_the_minus_23_and_go_on_behind_the_count() -> None:
    u = noise.uniforms(1, 0, 1001).astype(np.float64) * 2**23
    assert (u == np.floor(u)).all()
    assert 0 <= u.min() < u.max() < 2**23
    assert abs(u.mean() / 2**23 - 0.5) < 0.05
    other = noise.uniforms(1, 1001, 1001)
    assert not set(other.tolist()) <= set((u / 2**23).tolist())


def test_the_logarithm_is_within_three_last_bits() -> None:
    x = np.geomspace(1e-12, 30, 5001).astype(np.float32)
    exact = np.log(x.astype(np.float64))
    assert (abs(noise.log(x) - exact) <= 3 * np.spacing(abs(exact).astype(np.float32))).all()


def test_the_noise_ends_at_the_largest_number_below_1_and_at_1e_12(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = np.array([0, 0.5, 1 - 2.0**-23], np.float32)
    monkeypatch.setattr(noise, "uniforms", lambda *_: ends)
    exact = [-math.log(-math.log(u)) for u in (1e-12, 0.5, 1 - 2.0**-23)]
    assert noise.gumbel(0, 0, 3).tolist() == pytest.approx(exact, abs=2e-6)
    assert exact[2] - exact[0] == pytest.approx(19.26, abs=0.005)


# Noise 3, 0, 0: at temperature 1/2 a logit of 2 becomes 4, at 2 it becomes 1.
@pytest.mark.parametrize(
    ("temperature", "token"), [(0.5, 1), (2.0, 0), (0.0, 1), (-1.0, 1), (1e-13, 1)]
)
def test_the_temperature_divides_the_logits_alone(
    temperature: float, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sampler_parity.engines.tinygrad import model

    monkeypatch.setattr(model, "gumbel", lambda *_: np.array([3, 0, 0], np.float32))
    cand = applied("tinygrad", {"seed": 1, "temperature": temperature}, [0.0, 2.0, 2.0])
    assert cand.token == token


def test_each_token_takes_a_number_for_every_token_of_the_vocabulary() -> None:
    chain = chain_of(("tinygrad", {"seed": 9, "temperature": 1.0}), n_vocab=7)
    for step in range(3):
        cand = applied("top_k", {"k": 0}, [0.0] * 7)
        chain.apply(cand)
        assert cand.token == int(noise.gumbel(9, 7 * step, 7).argmax())


def test_chains_in_llama_cpps_names_become_seed_and_temperature() -> None:
    dist: dict[str, Any] = {"dist": {"seed": 7}}
    assert options_of([dist]) == (7, 1.0)
    assert options_of([{"temp": {"temp": 0.5}}, dist]) == (7, 0.5)
    assert options_of([{"greedy": {}}]) == (0, 0.0)
    assert options_of([{"tinygrad": {"seed": 7}}]) == (7, 0.0)
    with pytest.raises(Unsupported, match="tinygrad has temp, in this order, then a token"):
        options_of([{"top_k": {"k": 4}}, dist])
