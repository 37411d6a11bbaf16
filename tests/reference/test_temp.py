"""temp: logits divided by the temperature."""

import numpy as np

from sampler_parity.reference import Candidates
from tests.support.applied import applied, chain_of


def test_temp_divides_and_does_not_multiply_by_the_reciprocal() -> None:
    """float32: 5 / 3 and 5 * (1 / 3) differ in the last bit."""
    five, three = np.float32(5), np.float32(3)
    assert five / three != five * (np.float32(1) / three)
    assert applied("temp", {"temp": 3.0}, [5.0]).logits[0] == five / three


def test_temp_of_zero_keeps_a_nan_that_comes_first() -> None:
    cand = applied("temp", {"temp": 0.0}, [np.nan, 1.0])
    assert np.isnan(cand.logits[0])
    assert cand.logits[1] == -np.inf


def test_temp_leaves_order_p_and_the_sorted_flag() -> None:
    cand = Candidates.from_logits([3.0, 2.0])
    cand.sorted = True
    chain_of(("temp", {"temp": 0.5})).apply(cand)
    assert (cand.sorted, cand.p.tolist(), cand.selected) == (True, [0.0, 0.0], -1)
