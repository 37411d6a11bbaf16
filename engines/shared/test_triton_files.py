"""Philox by its published values, and edits of a file's text."""

import pytest

from sampler_parity.engines.shared.philox import rand
from sampler_parity.engines.shared.triton_files import Edit, edit_of


# Random123, kat_vectors: philox4x32 10, key and counter 0: the first word.
def test_philox_is_that_of_random123() -> None:
    first = 0x6627E8D5
    assert float(rand(0, 0)) == pytest.approx(first * 4.6566127342e-10, rel=1e-6)


def test_all_bits_of_a_seed_count() -> None:
    numbers = {float(rand(1 << bit, 3)) for bit in range(64)}
    assert len(numbers) == 64
    assert all(0 <= number < 1 for number in numbers)


def test_an_edit_that_does_not_fit_is_an_error() -> None:
    assert Edit("m", "a", "b").applied("xax") == "xbx"
    assert edit_of({"module": "m", "old": "a", "new": "b", "times": 2}).applied("aa") == "bb"
    with pytest.raises(ValueError, match="'a' occurs 2 times, not 1"):
        Edit("m", "a", "b").applied("aa")
