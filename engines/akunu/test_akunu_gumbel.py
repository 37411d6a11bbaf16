"""akunu_gumbel: hashed Gumbel noise and argmax, by hand and against the independent backend."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.akunu import gumbel as backend
from sampler_parity.engines.akunu.model.gumbel_max import (
    AkunuGumbel,
    gumbel,
)
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import pcg_floats, pcg_hash
from tests.support.applied import side_by_side
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

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


@pytest.mark.parametrize("state", [0, 1, 2**31, MODULUS - 1])
def test_pcg_hash_is_its_formula_in_whole_numbers(state: int) -> None:
    s = (state * 747796405 + 2891336453) % MODULUS
    mixed = ((s >> ((s >> 28) + 4)) ^ s) * 277803737 % MODULUS
    assert pcg_hash(state) == (mixed >> 22) ^ mixed


def test_pcg_floats_wrap_around_and_reach_one() -> None:
    assert pcg_floats(MODULUS - 1, 2)[1] == pcg_floats(0, 1)[0]
    assert pcg_floats(_unhash(MODULUS - 128), 1)[0] == 1
    assert pcg_floats(_unhash(MODULUS - 129), 1)[0] == np.float32(1 - 2**-24)


def test_akunu_gumbel_never_draws_what_is_19_temperatures_below() -> None:
    logits = np.array([18.75, 0.0], np.float32)
    sampler = AkunuGumbel(seed_offset=0, temperature=1.0, noise="f32")
    lowest, highest = gumbel(np.array([1e-7, 1 - 2**-23], np.float32))
    assert 18.75 + lowest > highest
    cand = Candidates.from_logits(logits)
    sampler.apply(cand)
    assert cand.token == 0


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in CASES["sampled"].items()}
        | dict.fromkeys(("seed_offset", "position"), st.integers(0, MODULUS - 1))
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
