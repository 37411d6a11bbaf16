"""top_n_sigma: mask what is more than n standard deviations below the largest logit."""

import numpy as np
import pytest

from tests.support.applied import applied


@pytest.mark.parametrize(("n", "banned"), [(1.0, [0, 2]), (1.9999, [0, 2]), (2.0, []), (3.0, [])])
def test_top_n_sigma_keeps_the_boundary(n: float, banned: list[int]) -> None:
    """-1 1 -1 1: mean 0, deviation 1, threshold 1 - n; at n = 2, -1 is not below -1."""
    cand = applied("top_n_sigma", {"n": n}, [-1.0, 1.0, -1.0, 1.0])
    assert np.flatnonzero(cand.logits == -np.inf).tolist() == banned
