"""exllamav3_combo and exllamav3_xtc by hand, torch's sum and sort, and what is refused."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.torch_cpu import descending, total
from sampler_parity.reference import ChainError
from tests.support.applied import applied, logs


# 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.0}, [1, 0, 0, 0]),
        ({"top_k": 3}, [4 / 7, 2 / 7, 1 / 7, 0]),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"min_p": 0.25}, [0.5, 0.25, 0.125, 0.125]),
        ({"min_p": 0.26, "top_p": 0.6}, [1, 0, 0, 0]),
        ({"temperature": 0.5}, [8 / 11, 2 / 11, 0.5 / 11, 0.5 / 11]),
        ({"temperature": 0.5, "top_p": 0.74, "temp_last": True}, [0.8, 0.2, 0, 0]),
        ({"temperature": 0.0}, [1, 0, 0, 0]),
    ],
    ids=str,
)
def test_p_of_the_combo_by_hand(parameters: dict[str, Any], p: list[float]) -> None:
    cand = applied("exllamav3_combo", parameters, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


# Half of the time 0.5 goes and 0.25 has 0.25 / 0.5 of the rest.
@pytest.mark.parametrize(
    ("probability", "threshold", "p"),
    [
        (0.5, 0.2, [0.25, 0.375, 0.1875, 0.1875]),
        (1.0, 0.2, [0, 0.5, 0.25, 0.25]),
        (1.0, 0.3, [0.5, 0.25, 0.125, 0.125]),
        (1.0, 0.51, [0.5, 0.25, 0.125, 0.125]),
        (0.0, 0.1, [0.5, 0.25, 0.125, 0.125]),
        (1.0, 0.0, [0, 0, 0, 1]),
    ],
)
def test_p_of_xtc_is_the_mean_of_both_outcomes(
    probability: float, threshold: float, p: list[float]
) -> None:
    given = {"probability": probability, "threshold": threshold}
    cand = applied("exllamav3_xtc", given, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize(
    ("stage", "parameters", "why"),
    [
        ("exllamav3_combo", {"top_p": 1.5}, "top_p must be in 0..1"),
        ("exllamav3_combo", {"min_p": -0.5}, "min_p must be in 0..1"),
        ("exllamav3_xtc", {"probability": 2.0, "threshold": 0.1}, "probability must be in 0..1"),
    ],
)
def test_what_a_step_asserts_against_is_refused(
    stage: str, parameters: dict[str, Any], why: str
) -> None:
    with pytest.raises(ChainError, match=why):
        applied(stage, parameters, logs(0.5, 0.5))


# torch 2.13.0 itself: (torch.arange(1, n + 1).float() / 10).sum(), on a CPU without vectors.
SUMS = {
    7: "0x1.6666680000000p+1",
    100: "0x1.f8fffe0000000p+8",
    1000: "0x1.8704000000000p+15",
    5000: "0x1.313ca00000000p+20",
}


@pytest.mark.parametrize("n", SUMS)
def test_the_sum_is_torchs_to_the_bit(n: int) -> None:
    values = np.arange(1, n + 1, dtype=np.float32) / np.float32(10)
    assert float(total(values)).hex() == SUMS[n]


# torch.sort(torch.zeros(17), descending=True)
OF_17 = [8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1]


def test_equal_tokens_stand_by_id_up_to_16_and_beyond_as_torchs_sort_leaves_them() -> None:
    assert descending(np.zeros(16, np.float32)).tolist() == list(range(16))
    assert descending(np.zeros(17, np.float32)).tolist() == OF_17
    of_nan = np.array([1, np.nan, 2], np.float32)
    assert descending(of_nan).tolist() == [2, 0, 1]
