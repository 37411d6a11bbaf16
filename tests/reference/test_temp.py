"""temp: logits divided by the temperature."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("temp", "expected"), [(1.0, [0.1, 0.2, 0.3, 0.4]), (0.0, [0.0, 0.0, 0.0, 1.0])]
)
def test_temp_leaves_the_published_probabilities(temp: float, expected: list[float]) -> None:
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    chain_of(("temp", {"temp": temp}), ("dist", {"seed": 0})).apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("temp", "expected"),
    [(0.5, [2.0, -4.0, 0.0]), (2.0, [0.5, -1.0, 0.0]), (1.0, [1.0, -2.0, 0.0])],
)
def test_temp_divides(temp: float, expected: list[float]) -> None:
    assert applied("temp", {"temp": temp}, [1.0, -2.0, 0.0]).logits.tolist() == expected


def test_temp_divides_and_does_not_multiply_by_the_reciprocal() -> None:
    """float32: 5 / 3 and 5 * (1 / 3) differ in the last bit."""
    five, three = np.float32(5), np.float32(3)
    assert five / three != five * (np.float32(1) / three)
    assert applied("temp", {"temp": 3.0}, [5.0]).logits[0] == five / three


@pytest.mark.parametrize("temp", [0.0, -0.0, -1.0])
@pytest.mark.parametrize(
    ("logits", "expected"),
    [
        ([1.0, 3.0, 2.0], [-np.inf, 3.0, -np.inf]),
        ([2.0, 3.0, 3.0], [-np.inf, 3.0, -np.inf]),
        ([-np.inf, -np.inf], [-np.inf, -np.inf]),
        ([1.0], [1.0]),
        ([], []),
        ([1.0, np.nan, 2.0], [-np.inf, -np.inf, 2.0]),
        ([np.inf, np.inf], [np.inf, -np.inf]),
    ],
    ids=["typical", "first of a tie", "all -inf", "one", "none", "NaN goes", "+inf"],
)
def test_temp_of_zero_or_less_keeps_the_first_largest(
    temp: float, logits: list[float], expected: list[float]
) -> None:
    cand = applied("temp", {"temp": temp}, logits)
    assert cand.logits.tolist() == expected
    assert cand.ids.tolist() == list(range(len(logits)))


def test_temp_of_zero_keeps_a_nan_that_comes_first() -> None:
    cand = applied("temp", {"temp": 0.0}, [np.nan, 1.0])
    assert np.isnan(cand.logits[0])
    assert cand.logits[1] == -np.inf


def test_temp_keeps_infinities_and_overflows_as_c_does() -> None:
    cand = applied("temp", {"temp": 1e-6}, [-np.inf, np.inf, 3e38, -3e38, 0.0, 1e-45])
    assert cand.logits[:5].tolist() == [-np.inf, np.inf, np.inf, -np.inf, 0.0]
    # the smallest denormal, 2**-149, times 10**6 is 1.4013e-39
    assert cand.logits[5] == pytest.approx(1.4013e-39, rel=1e-4)


def test_temp_leaves_order_p_and_the_sorted_flag() -> None:
    cand = Candidates.from_logits([3.0, 2.0])
    cand.sorted = True
    chain_of(("temp", {"temp": 0.5})).apply(cand)
    assert (cand.sorted, cand.p.tolist(), cand.selected) == (True, [0.0, 0.0], -1)
