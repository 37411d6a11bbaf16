"""dist: a draw by inverse transform over the candidates as they stand.

The seed is mt19937's default, 5489, whose first uniform doubles are .135477, .835009, .968868.
"""

import numpy as np
import pytest

from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from tests.support.applied import SEED, FixedWords, applied, chain_of, logs


def _draws(logits: list[float], n: int) -> list[int | None]:
    chain = chain_of(("dist", {"seed": SEED}))
    tokens = []
    for _ in range(n):
        cand = Candidates.from_logits(np.array(logits, np.float32))
        chain.apply(cand)
        tokens.append(cand.token)
    return tokens


def test_dist_draws_by_the_running_sum() -> None:
    # sums .1, .3, .6, 1: .135 -> 1, .835 -> 3, .969 -> 3
    assert _draws(logs(0.1, 0.2, 0.3, 0.4).tolist(), 3) == [1, 3, 3]
    # sums .4, .7, .9, 1: .135 -> 0, .835 -> 2, .969 -> 3
    assert _draws(logs(0.4, 0.3, 0.2, 0.1).tolist(), 3) == [0, 2, 3]


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
    cand = Candidates.from_logits(logits)
    sampler.apply(cand)
    assert cand.token == token


def test_dist_with_no_candidates_selects_none_and_draws_nothing() -> None:
    chain = chain_of(("dist", {"seed": SEED}))
    none, two = Candidates.from_logits([]), Candidates.from_logits(logs(0.5, 0.5))
    chain.apply(none)
    chain.apply(two)
    assert none.token is None
    assert two.token == 0  # by .135; the second number, .835, would give 1


def test_dist_with_the_default_seed_is_random() -> None:
    """2**32 - 1 asks for a seed of its own: 20 draws of 1,000,000 tokens agree by chance never."""
    logits = np.zeros(1000, np.float32)
    streams = set()
    for _ in range(2):
        chain = chain_of(("dist", {"seed": 0xFFFFFFFF}))
        tokens = []
        for _ in range(20):
            cand = Candidates.from_logits(logits)
            chain.apply(cand)
            tokens.append(cand.token)
        streams.add(tuple(tokens))
    assert len(streams) == 2


def test_dist_takes_a_new_random_seed_at_reset() -> None:
    chain = chain_of(("dist", {"seed": 0xFFFFFFFF}))
    seeds = {chain.samplers[0].rng.seed_cur}  # type: ignore[attr-defined]
    for _ in range(3):
        chain.reset()
        seeds.add(chain.samplers[0].rng.seed_cur)  # type: ignore[attr-defined]
    assert len(seeds) > 1
