"""mirostat (v1): k from the slope of the ranked probabilities, then a draw, then mu.

If p_i falls as rank**-s, every b_i is s * t_i, so the estimate of s is s itself. With s = 2 and
n_vocab = 4, k = sqrt(2**mu / (1 - 1/4)). The first two uniform doubles of the seed are .135477 and
.835009.
"""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.samplers.mirostat import Mirostat
from tests.support.applied import SEED, applied, logs

ZIPF_2 = np.array([0.0, -2 * np.log(2), -2 * np.log(3), -2 * np.log(4)], np.float32)


def _stepped(sampler: Mirostat, logits: object) -> Candidates:
    cand = Candidates.from_logits(logits)  # type: ignore[arg-type]
    sampler.apply(cand)
    return cand


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
    assert _stepped(sampler, ZIPF_2).token == 0
    assert sampler.mu == pytest.approx(3.10552, abs=1e-5)


def test_mirostat_estimates_from_the_first_m_minus_one_pairs() -> None:
    """m = 2: one pair, p0/p1 = 2: b = log 2, t = log 2, s = 1, e = 0: 0/0, k = 1.

    m = 3 adds p1/p2 = 8 with t = log 1.5: s = (.4805 + 2.0794 * .4055) / (.4805 + .1644) = 2.0525,
    e = 1.0525, k = (1.0525 * 2**10 / (1 - 3**-1.0525)) ** (1 / 2.0525) = 36.6: all three.
    """
    logits = [0.0, -np.log(2), -np.log(16)]
    assert len(applied("mirostat", {"seed": SEED, "m": 2}, logits)) == 1
    assert len(applied("mirostat", {"seed": SEED, "m": 3}, logits)) == 3


@pytest.mark.parametrize("m", [0, -1, -(2**31), 100])
def test_mirostat_uses_all_pairs_for_m_of_zero_or_less(m: int) -> None:
    parameters = {"seed": SEED, "tau": 1.5, "m": m}
    assert applied("mirostat", parameters, ZIPF_2).ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("parameters", "logits"),
    [
        ({"m": 1}, ZIPF_2),
        ({"tau": 100.0}, ZIPF_2),
        ({}, [1.0, 1.0, 1.0]),
        ({}, [3.0]),
        ({}, [-np.inf, -np.inf]),
    ],
    ids=["m = 1: 0/0", "2**200 is no int", "equal logits: x ** inf", "one", "all -inf"],
)
def test_mirostat_turns_greedy_where_k_is_no_number(
    parameters: dict[str, float], logits: list[float]
) -> None:
    assert len(applied("mirostat", {"seed": SEED, **parameters}, logits)) == 1


def test_mirostat_with_one_candidate_draws_nothing_and_raises_mu() -> None:
    """Surprise 0: mu = 10 - .1 * (0 - 5) = 10.5. Then .135 is still the first number."""
    sampler = Mirostat(SEED, 4)
    assert _stepped(sampler, [7.0]).token == 0
    assert sampler.mu == pytest.approx(10.5)
    # mu 10.5: k = sqrt(1448 / .75) = 43.9: all four, p = .7024 .1756 .0780 .0439; .135 is the first
    assert _stepped(sampler, ZIPF_2).token == 0
    # and .835 lies in .7024...8780
    assert _stepped(sampler, ZIPF_2).token == 1


def test_mirostat_keeps_mu_nan_until_reset() -> None:
    sampler = Mirostat(SEED, 2)
    _stepped(sampler, [-np.inf, -np.inf])
    assert np.isnan(sampler.mu)
    _stepped(sampler, logs(0.7, 0.3))
    assert np.isnan(sampler.mu)
    sampler.reset()
    assert sampler.mu == 10


def test_mirostat_starts_over_on_reset_and_goes_on_in_a_clone() -> None:
    sampler = Mirostat(SEED, 4, tau=2.0)
    first = _stepped(sampler, ZIPF_2).token
    twin = sampler.clone()
    assert _stepped(sampler, ZIPF_2).token == _stepped(twin, ZIPF_2).token == 1
    assert sampler.mu == twin.mu != 4
    sampler.reset()
    assert sampler.mu == 4
    assert _stepped(sampler, ZIPF_2).token == first


def test_mirostat_refuses_no_candidates_and_nan() -> None:
    with pytest.raises(UndefinedInputError, match=r"^softmax of no candidates"):
        applied("mirostat", {"seed": SEED}, [])
    with pytest.raises(UndefinedInputError, match=r"^logit of token 1 is NaN"):
        applied("mirostat", {"seed": SEED}, [0.0, np.nan])
