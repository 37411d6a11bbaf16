"""temp_ext: a temperature that follows the entropy."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("temp", "expected"), [(1.0, [0.1, 0.2, 0.3, 0.4]), (0.0, [0.0, 0.0, 0.0, 1.0])]
)
def test_temp_ext_leaves_the_published_probabilities(temp: float, expected: list[float]) -> None:
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    parameters = {"temp": temp, "delta": 0.0, "exponent": 1.0}
    chain_of(("temp_ext", parameters), ("dist", {"seed": 0})).apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("delta", [0.0, -1.0])
def test_temp_ext_without_range_is_temp(delta: float) -> None:
    cand = applied("temp_ext", {"temp": 2.0, "delta": delta}, [1.0, 4.0])
    assert cand.logits.tolist() == [0.5, 2.0]
    assert cand.p.tolist() == [0.0, 0.0]
    assert not cand.sorted


@pytest.mark.parametrize(
    ("exponent", "temperature"),
    # h = entropy / log 4 of p = .5 .25 .125 .125 is 1.75 bits / 2 bits = .875; T from .5 to 1.5
    [(1.0, 0.5 + 0.875), (2.0, 0.5 + 0.875**2), (0.5, 0.5 + 0.875**0.5), (0.0, 1.5)],
)
def test_temp_ext_maps_the_entropy_to_the_range(exponent: float, temperature: float) -> None:
    logits = logs(0.5, 0.25, 0.125, 0.125)
    parameters = {"temp": 1.0, "delta": 0.5, "exponent": exponent}
    cand = applied("temp_ext", parameters, logits)
    assert cand.logits == pytest.approx(logits / temperature, rel=1e-6)
    shares = np.array([0.5, 0.25, 0.125, 0.125]) ** (1 / temperature)
    assert cand.p == pytest.approx(shares / shares.sum(), rel=1e-5)
    assert cand.sorted


def test_temp_ext_uses_the_upper_end_for_equal_logits() -> None:
    """h = 1: T = 1 + 2 = 3, whatever the exponent."""
    cand = applied("temp_ext", {"temp": 1.0, "delta": 2.0, "exponent": 3.0}, [6.0, 6.0])
    assert cand.logits == pytest.approx([2.0, 2.0], rel=1e-6)
    assert cand.p == pytest.approx([0.5, 0.5])


def test_temp_ext_clamps_the_lower_end_at_zero() -> None:
    """delta > temp, entropy 0: T = 0 keeps the largest only, as temp does."""
    cand = applied("temp_ext", {"temp": 0.5, "delta": 2.0}, [-np.inf, 3.0, -np.inf])
    assert cand.ids[0] == 1
    assert cand.logits.tolist() == [3.0, -np.inf, -np.inf]
    assert cand.p.tolist() == [1.0, 0.0, 0.0]


def test_temp_ext_maps_to_the_clamped_range() -> None:
    """temp .5, delta 2: 0 to 2.5, h = .875: T = 2.1875 (from -1.5 on it would be 2)."""
    logits = logs(0.5, 0.25, 0.125, 0.125)
    cand = applied("temp_ext", {"temp": 0.5, "delta": 2.0}, logits)
    assert cand.logits == pytest.approx(logits / 2.1875, rel=1e-5)


def test_temp_ext_uses_the_lower_end_without_entropy() -> None:
    """temp 1, delta .5, one possible token: T = .5."""
    cand = applied("temp_ext", {"temp": 1.0, "delta": 0.5}, [3.0, -np.inf])
    assert cand.logits.tolist() == [6.0, -np.inf]


@pytest.mark.parametrize("logits", [[], [5.0]], ids=["none", "one"])
def test_temp_ext_with_a_range_leaves_up_to_one_candidate(logits: list[float]) -> None:
    cand = applied("temp_ext", {"temp": 0.1, "delta": 0.05}, logits)
    assert cand.logits.tolist() == logits
    assert not cand.sorted


def test_temp_ext_without_range_scales_one_candidate() -> None:
    assert applied("temp_ext", {"temp": 0.5, "delta": 0.0}, [5.0]).logits.tolist() == [10.0]


def test_temp_ext_takes_the_lower_end_where_all_are_banned() -> None:
    """Every p is NaN, none is > 0, the entropy 0: T = .5; -inf / .5 = -inf; p stays NaN."""
    cand = applied("temp_ext", {"temp": 1.0, "delta": 0.5}, [-np.inf] * 2)
    assert cand.logits.tolist() == [-np.inf] * 2
    assert np.isnan(cand.p).all()


def test_temp_ext_refuses_nan_only_where_it_sorts() -> None:
    with pytest.raises(UndefinedInputError, match=r"^logit of token 1 is NaN"):
        applied("temp_ext", {"temp": 1.0, "delta": 0.5}, [0.0, np.nan])
    assert applied("temp_ext", {"temp": 2.0}, [4.0, np.nan]).logits[0] == 2.0
