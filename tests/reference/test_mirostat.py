"""mirostat (v1): k from the slope of the ranked probabilities, then a draw, then mu.

If p_i falls as rank**-s, every b_i is s * t_i, so the estimate of s is s itself. With s = 2 and
n_vocab = 4, k = sqrt(2**mu / (1 - 1/4)). The first two uniform doubles of the seed are .135477 and
.835009.
"""

import numpy as np
import pytest

from sampler_parity.reference.samplers.mirostat import Mirostat
from tests.support.applied import SEED, applied, logs, stepped

ZIPF_2 = np.array([0.0, -2 * np.log(2), -2 * np.log(3), -2 * np.log(4)], np.float32)


@pytest.mark.parametrize(
    ("tau", "k"),
    [
        (0.5, 1),  # mu 1: sqrt(2.667) = 1.63
        (1.0, 2),  # mu 2: sqrt(5.333) = 2.31
        (1.5, 3),  # mu 3: sqrt(10.667) = 3.27
        (2.0, 4),  # mu 4: sqrt(21.333) = 4.62
        (3.0, 4),  # mu 6: sqrt(85.333) = 9.24, more than there are
    ],
)
def test_mirostat_keeps_k_tokens(tau: float, k: int) -> None:
    cand = applied("mirostat", {"seed": SEED, "tau": tau}, ZIPF_2[::-1])
    assert cand.ids.tolist() == [3, 2, 1, 0][:k]
    assert cand.p.sum() == pytest.approx(1, abs=1e-6)


def test_mirostat_draws_and_moves_mu_by_the_surprise() -> None:
    """tau 1.5: of 1, 1/4, 1/9 (sum 49/36) .135 draws the first, p = 36/49, surprise .44478 bits;
    mu = 3 - .1 * (.44478 - 1.5) = 3.10552."""
    sampler = Mirostat(SEED, 4, tau=1.5)
    assert stepped(sampler, ZIPF_2).token == 0
    assert sampler.mu == pytest.approx(3.10552, abs=1e-5)


def test_mirostat_with_one_candidate_draws_nothing_and_raises_mu() -> None:
    """Surprise 0: mu = 10 - .1 * (0 - 5) = 10.5. Then .135 is still the first number."""
    sampler = Mirostat(SEED, 4)
    assert stepped(sampler, [7.0]).token == 0
    assert sampler.mu == pytest.approx(10.5)
    # mu 10.5: k = sqrt(1448 / .75) = 43.9: all four, p = .7024 .1756 .0780 .0439; .135 is the first
    assert stepped(sampler, ZIPF_2).token == 0
    # and .835 lies in .7024...8780
    assert stepped(sampler, ZIPF_2).token == 1


def test_mirostat_keeps_mu_nan_until_reset() -> None:
    sampler = Mirostat(SEED, 2)
    stepped(sampler, [-np.inf, -np.inf])
    assert np.isnan(sampler.mu)
    stepped(sampler, logs(0.7, 0.3))
    assert np.isnan(sampler.mu)
    sampler.reset()
    assert sampler.mu == 10
