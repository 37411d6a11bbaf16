"""torch's sums, sorts and top-k on a CPU without vectors, to the bit."""

import numpy as np
import pytest

from sampler_parity.engines.shared.torch_cpu import descending, largest, softmax, total

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


@pytest.mark.parametrize("n", [3, 4, 17, 200, 1000])
def test_the_largest_of_topk_are_the_largest(n: int) -> None:
    rng = np.random.default_rng(n)
    for k in (1, 2, n // 2, n):
        values = np.round(rng.normal(0, 2, n)).astype(np.float32)
        kept = largest(values, k)
        assert len(set(kept.tolist())) == k
        assert sorted(values[kept].tolist()) == sorted(values.tolist())[n - k :]


def test_nth_element_of_equal_ones_by_hand() -> None:
    # Six equal keys, the third. The pivot, of places 1, 3 and 5, is 3. It changes places with 0,
    # then 1 and 5, 2 and 4 change places: 3 5 4 0 2 1. The ends meet at 3: three are left in front.
    assert largest(np.zeros(6, np.float32), 3).tolist() == [3, 5, 4]


def test_eight_sums_are_added_one_after_the_other_and_the_rest_goes_to_the_first() -> None:
    # exp is 1 for the first and 2**-25 elsewhere: each alone vanishes next to 1, together in a
    # lane of their own they do not. 15 of them: lane 0 loses one, the seven others hold two each,
    # which are 2**-24, half a last bit of 1, and 1 stays 1 (ties to even).
    tiny = np.float32(np.log(2.0**-25))
    p = softmax(np.array([0.0] + [tiny] * 15, np.float32))
    assert p[0] == 1
    # A lane holds four of 32, 2**-23: a last bit of 1.
    p = softmax(np.array([0.0] + [tiny] * 31, np.float32))
    assert p[0] < 1
