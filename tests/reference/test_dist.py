"""dist: a draw by inverse transform over the candidates as they stand.

The seed is mt19937's default, 5489, whose first uniform doubles are .135477, .835009, .968868.
"""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from sampler_parity.reference.random import Walk
from sampler_parity.reference.samplers.dist import Dist
from tests.support.applied import SEED, FixedWords, applied, logs, stepped


def _draws(logits: ArrayLike, n: int, seed: int = SEED) -> list[int | None]:
    dist = Dist(seed)
    return [stepped(dist, logits).token for _ in range(n)]


def test_dist_draws_by_the_running_sum() -> None:
    # sums .1, .3, .6, 1: .135 -> 1, .835 -> 3, .969 -> 3
    assert _draws(logs(0.1, 0.2, 0.3, 0.4), 3) == [1, 3, 3]
    # sums .4, .7, .9, 1: .135 -> 0, .835 -> 2, .969 -> 3
    assert _draws(logs(0.4, 0.3, 0.2, 0.1), 3) == [0, 2, 3]


def test_dist_normalizes_the_probabilities() -> None:
    cand = applied("dist", {"seed": SEED}, logs(0.1, 0.2, 0.3, 0.4) + np.float32(3))
    assert cand.p == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=1e-6)
    assert not cand.sorted


@pytest.mark.parametrize(
    ("high", "logits", "token"),
    [
        (2**31, [0.0, 0.0], 0),  # u = .5: the sum 1 of 2 reaches 2 * .5
        (2**31 + 1, [0.0, 0.0], 1),
        (0, [-np.inf, 0.0], 0),  # u = 0: a sum of 0 reaches it, even that of a banned token
        (1, [-np.inf, 0.0], 1),
        (2**32 - 1, [0.0, 0.0, -np.inf], 1),
    ],
    ids=["exactly reached", "just not", "zero", "just above zero", "largest"],
)
def test_dist_selects_where_the_number_is_reached_exactly(
    high: int, logits: list[float], token: int
) -> None:
    """u = high / 2**32, from the words 0 and high."""
    sampler = Dist(0)
    sampler.rng = FixedWords(0, high)
    assert stepped(sampler, logits).token == token


def test_dist_with_no_candidates_selects_none_and_draws_nothing() -> None:
    dist = Dist(SEED)
    assert stepped(dist, []).token is None
    assert stepped(dist, logs(0.5, 0.5)).token == 0  # by .135; the second, .835, would give 1


def test_dist_with_the_default_seed_is_random() -> None:
    """2**32 - 1 asks for a seed of its own: 20 draws of 1,000,000 tokens agree by chance never."""
    assert _draws(np.zeros(1000), 20, 0xFFFFFFFF) != _draws(np.zeros(1000), 20, 0xFFFFFFFF)


def test_dist_takes_a_new_random_seed_at_reset() -> None:
    dist = Dist(0xFFFFFFFF)
    seeds = {dist.rng.seed_cur}
    for _ in range(3):
        dist.reset()
        seeds.add(dist.rng.seed_cur)
    assert len(seeds) > 1


def test_walk_draws_what_dist_draws() -> None:
    logits = np.random.default_rng(13).normal(0, 2, 100).astype(np.float32)
    weights = np.exp(logits.astype(np.float64) - logits.max())
    dist = Dist(5)
    want = [stepped(dist, logits).token for _ in range(50)]
    twin = Dist(5)
    u = np.array([twin.rng.uniform_double() for _ in range(50)])
    assert Walk(np.arange(100, dtype=np.int32), np.cumsum(weights)).tokens(u).tolist() == want
