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


@pytest.mark.parametrize(("first", "token"), [(0.13547, 1), (0.13548, 0)])
def test_dist_selects_the_first_whose_sum_reaches_the_number(first: float, token: int) -> None:
    """The number is .1354770..: a first probability just below it is passed, just above taken."""
    assert applied("dist", {"seed": SEED}, logs(first, 1 - first)).token == token


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


def test_dist_depends_on_the_order_of_the_candidates() -> None:
    cand = Candidates.from_logits(logs(0.1, 0.9))
    cand.keep(np.array([1, 0]))
    chain_of(("dist", {"seed": SEED})).apply(cand)
    assert cand.token == 1  # sums .9, 1 over the ids 1, 0; in vocabulary order .135 is id 1 too
    cand = Candidates.from_logits(logs(0.2, 0.8))
    cand.keep(np.array([1, 0]))
    chain_of(("dist", {"seed": SEED})).apply(cand)
    assert cand.token == 1
    assert applied("dist", {"seed": SEED}, logs(0.2, 0.8)).token == 0


def test_dist_never_draws_a_banned_token() -> None:
    assert set(_draws([-np.inf, 0.0, -np.inf, 0.0, -np.inf], 1000)) == {1, 3}


def test_dist_with_one_candidate_uses_up_a_draw() -> None:
    """llama.cpp's test_dist_singleton_rng: one candidate leaves the stream where two would."""
    single, control = chain_of(("dist", {"seed": 4242})), chain_of(("dist", {"seed": 4242}))
    one = Candidates.from_logits([0.0])
    single.apply(one)
    assert (one.token, one.p.tolist()) == (0, [1.0])
    control.apply(Candidates.from_logits([0.0, 0.0]))
    for _ in range(4):
        a, b = (Candidates.from_logits(np.zeros(256)) for _ in range(2))
        single.apply(a)
        control.apply(b)
        assert a.token == b.token


def test_dist_with_no_candidates_selects_none_and_draws_nothing() -> None:
    chain = chain_of(("dist", {"seed": SEED}))
    none, two = Candidates.from_logits([]), Candidates.from_logits(logs(0.5, 0.5))
    chain.apply(none)
    chain.apply(two)
    assert none.token is None
    assert two.token == 0  # by .135; the second number, .835, would give 1


@pytest.mark.parametrize(
    "logits",
    [[-np.inf] * 3, [0.0, np.nan, 0.0], [0.0, np.inf, 0.0]],
    ids=["all -inf", "a NaN", "a +inf"],
)
def test_dist_selects_the_last_where_every_p_is_nan(logits: list[float]) -> None:
    cand = applied("dist", {"seed": SEED}, logits)
    assert cand.token == 2
    assert np.isnan(cand.p).all()


def test_dist_starts_over_on_reset_and_goes_on_in_a_clone() -> None:
    chain = chain_of(("dist", {"seed": SEED}))
    logits = logs(0.4, 0.3, 0.2, 0.1)

    def draw(of: object = chain) -> int | None:
        cand = Candidates.from_logits(logits)
        of.apply(cand)  # type: ignore[attr-defined]
        return cand.token

    assert draw() == 0
    twin = chain.clone()
    assert [draw(), draw(twin)] == [2, 2]
    assert [draw(twin), draw()] == [3, 3]
    chain.reset()
    assert [draw(), draw(twin) is not None] == [0, True]


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
