"""temp_ext: a temperature that follows the entropy."""

import numpy as np
import pytest

from sampler_parity.reference import UndefinedInputError
from tests.support.applied import applied, logs


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


def test_temp_ext_maps_to_the_clamped_range() -> None:
    """temp .5, delta 2: 0 to 2.5, h = .875: T = 2.1875 (from -1.5 on it would be 2)."""
    logits = logs(0.5, 0.25, 0.125, 0.125)
    cand = applied("temp_ext", {"temp": 0.5, "delta": 2.0}, logits)
    assert cand.logits == pytest.approx(logits / 2.1875, rel=1e-5)


def test_temp_ext_without_range_scales_one_candidate() -> None:
    assert applied("temp_ext", {"temp": 0.5, "delta": 0.0}, [5.0]).logits.tolist() == [10.0]


def test_temp_ext_refuses_nan_only_where_it_sorts() -> None:
    with pytest.raises(UndefinedInputError, match=r"^logit of token 1 is NaN"):
        applied("temp_ext", {"temp": 1.0, "delta": 0.5}, [0.0, np.nan])
    assert applied("temp_ext", {"temp": 2.0}, [4.0, np.nan]).logits[0] == 2.0
