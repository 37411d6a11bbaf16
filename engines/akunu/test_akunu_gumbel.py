"""akunu_gumbel: hashed Gumbel noise and argmax, by hand and against the independent backend."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.akunu import gumbel as backend
from sampler_parity.engines.akunu.model.gumbel_max import (
    KNUTH,
    AkunuGumbel,
    element_seed,
    gumbel,
    uniforms,
)
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.random import pcg_floats, pcg_hash
from tests.support.applied import applied, side_by_side

MODULUS = 2**32


def _unhash(word: int) -> int:
    """Return the state that gives a word: each step of the hash backwards."""
    word ^= word >> 22
    word = word * pow(277803737, -1, MODULUS) % MODULUS
    shift = (word >> 28) + 4
    state = word
    for _ in range(8):
        state = word ^ (state >> shift)
    return (state - 2891336453) * pow(747796405, -1, MODULUS) % MODULUS


@pytest.mark.slow
@given(st.integers(0, MODULUS - 1))
def test_pcg_hash_can_be_run_backwards_and_so_is_a_bijection(state: int) -> None:
    assert _unhash(pcg_hash(state)) == state


@pytest.mark.parametrize("state", [0, 1, 2**31, MODULUS - 1])
def test_pcg_hash_is_its_formula_in_whole_numbers(state: int) -> None:
    s = (state * 747796405 + 2891336453) % MODULUS
    mixed = ((s >> ((s >> 28) + 4)) ^ s) * 277803737 % MODULUS
    assert pcg_hash(state) == (mixed >> 22) ^ mixed


def test_pcg_floats_wrap_around_and_reach_one() -> None:
    assert pcg_floats(MODULUS - 1, 2)[1] == pcg_floats(0, 1)[0]
    assert pcg_floats(_unhash(MODULUS - 128), 1)[0] == 1
    assert pcg_floats(_unhash(MODULUS - 129), 1)[0] == np.float32(1 - 2**-24)


def test_division_by_one_less_is_the_same_in_float32() -> None:
    assert np.float32(4294967295) == np.float32(4294967296)


def test_noise_is_clamped_on_both_sides() -> None:
    high, low = (uniforms(_unhash(word), 1) for word in (MODULUS - 1, 0))
    assert gumbel(high)[0] == pytest.approx(-math.log(-math.log1p(-(2**-23))), abs=1e-5)
    assert gumbel(low)[0] == pytest.approx(-math.log(-math.log(1e-7)), abs=1e-5)


def test_element_seed_multiplies_position_and_offset_together() -> None:
    assert element_seed(2, 3) == 5 * KNUTH % MODULUS
    assert element_seed(MODULUS - 1, 1) == 0


def test_akunu_gumbel_adds_scaled_noise_in_half_precision() -> None:
    parameters = {"seed_offset": 9, "temperature": 0.5}
    cand = applied("akunu_gumbel", parameters, [1.0, 2.0, 3.0])
    noise = [-math.log(-math.log(u)) for u in pcg_floats(9 * KNUTH % MODULUS, 3).tolist()]
    exact = np.array([1.0, 2.0, 3.0]) + 0.5 * np.array(noise)
    assert cand.logits.tolist() == exact.astype(np.float16).tolist()
    assert cand.token == exact.argmax()


def test_akunu_gumbel_keeps_float32_where_asked_to() -> None:
    parameters = {"seed_offset": 9, "temperature": 0.5, "noise": "f32"}
    cand = applied("akunu_gumbel", parameters, [1.0, 2.0, 3.0])
    assert (cand.logits != cand.logits.astype(np.float16)).any()


def test_akunu_gumbel_moves_on_by_one_position_a_token() -> None:
    logits = np.zeros(50, np.float32)
    sampler = AkunuGumbel(seed_offset=1, temperature=1.0)
    tokens = []
    for _ in range(6):
        cand = Candidates.from_logits(logits)
        sampler.apply(cand)
        tokens.append(cand.token)
    again = [
        applied("akunu_gumbel", {"seed_offset": 1, "temperature": 1.0, "position": i}, logits).token
        for i in range(6)
    ]
    assert tokens == again
    assert len(set(tokens)) > 1


def test_akunu_gumbel_never_draws_what_is_19_temperatures_below() -> None:
    logits = np.array([18.75, 0.0], np.float32)
    sampler = AkunuGumbel(seed_offset=0, temperature=1.0, noise="f32")
    lowest, highest = gumbel(np.array([1e-7, 1 - 2**-23], np.float32))
    assert 18.75 + lowest > highest
    cand = Candidates.from_logits(logits)
    sampler.apply(cand)
    assert cand.token == 0


def test_akunu_gumbel_filters_at_the_temperature_and_keeps_ties() -> None:
    """At T = 2: p / p_max = 1, e^-1, e^-1.5, e^-2 = .135: min_p .2 keeps three."""
    parameters = {"seed_offset": 1, "temperature": 2.0, "min_p": 0.2}
    cand = applied("akunu_gumbel", parameters, [4.0, 2.0, 1.0, 0.0])
    assert np.isfinite(cand.logits).tolist() == [True, True, True, False]
    parameters = {"seed_offset": 1, "temperature": 1.0, "top_k": 2}
    cand = applied("akunu_gumbel", parameters, [1.0, 1.0, 1.0, 0.0])
    assert np.isfinite(cand.logits).tolist() == [True, True, True, False]


def test_akunu_gumbel_refuses_another_noise() -> None:
    with pytest.raises(ChainError, match='noise must be "f16" or "f32"'):
        AkunuGumbel(seed_offset=1, noise="bf16")


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "seed_offset": st.integers(0, MODULUS - 1),
            "temperature": st.sampled_from([0.0, 0.2, 1.0, 5.0]),
            "top_k": st.sampled_from([-1, 0, 1, 40, 256, 5000]),
            "top_p": st.sampled_from([0.0, 0.5, 0.95, 1.0]),
            "min_p": st.sampled_from([0.0, 0.05, 1.0, 1.5]),
            "repeat_penalty": st.sampled_from([1.0, 1.1]),
            "position": st.integers(0, MODULUS - 1),
            "noise": st.sampled_from(["f16", "f32"]),
        }
    ),
    st.sampled_from(sorted(FAMILIES)),
    st.sampled_from([1, 2, 20, 257, 600]),
    st.integers(0, 2**31),
    st.lists(st.integers(-1, 30), max_size=8),
)
def test_akunu_gumbel_backend_agrees_to_the_bit(
    parameters: dict[str, object], family: str, n: int, seed: int, history: list[int]
) -> None:
    spec = [{"akunu_gumbel": parameters}]
    for want, got in side_by_side(backend.Worker(), spec, family, n, seed, history):
        assert got.logits.tobytes() == want.logits.tobytes()
        assert got.selected == want.selected
