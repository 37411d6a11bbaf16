"""The enumeration of outcomes: exact, and equal to the distribution of the draws."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sampler_parity.reference.speculative import chance as chances
from sampler_parity.reference.speculative.chance import Chance, Drawn, enumerate_outcomes
from tests.support.speculative import P

THIRD, HALF = Fraction(1, 3), Fraction(1, 2)


def test_a_comparison_is_true_as_often_as_its_threshold_says() -> None:
    distribution = enumerate_outcomes(lambda chance: chance.below(chance.uniform(), THIRD))
    assert distribution == {True: THIRD, False: 1 - THIRD}


def test_a_number_compared_twice_is_one_number() -> None:
    """u < 1/3 and u < 1/2: both, the second alone, neither; never the first alone."""

    def twice(chance: Chance) -> tuple[bool, bool]:
        u = chance.uniform()
        return chance.below(u, THIRD), chance.below(u, HALF)

    distribution = enumerate_outcomes(twice)
    assert distribution == {
        (True, True): THIRD,
        (False, True): Fraction(1, 6),
        (False, False): HALF,
    }


def test_a_certain_comparison_is_followed_one_way_only() -> None:
    distribution = enumerate_outcomes(lambda chance: chance.below(chance.uniform(), 1))
    assert distribution == {True: 1}
    assert enumerate_outcomes(lambda chance: chance.below(chance.uniform(), 0)) == {False: 1}


def test_a_draw_by_weight_has_the_weights_and_nothing_impossible() -> None:
    weights = np.array([0, 3, 0, 1, 0])
    distribution = enumerate_outcomes(lambda chance: chance.index(chance.uniform(), weights))
    assert distribution == {1: Fraction(3, 4), 3: Fraction(1, 4)}


def test_drawn_follows_what_is_enumerated() -> None:
    """4,000 draws: by Hoeffding's inequality each share is within 0.045, but once in 10^6 seeds."""
    drawn, row = Drawn(np.random.default_rng(1)), P.astype(float)
    counts = Counter(drawn.index(drawn.uniform(), row) for _ in range(4_000))
    assert all(abs(counts[token] / 4_000 - p) < 0.045 for token, p in enumerate(row))


def test_drawn_never_takes_an_impossible_token() -> None:
    drawn = Drawn(np.random.default_rng(1))
    assert drawn.index(0.0, np.array([0.0, 1.0, 0.0])) == 1
    assert drawn.index(1 - 2**-53, np.array([0.0, 1.0, 0.0])) == 1


def test_too_many_ways_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chances, "MOST_OUTCOMES", 3)
    with pytest.raises(ValueError, match="more than 3 outcomes"):
        enumerate_outcomes(lambda chance: chance.index(chance.uniform(), np.ones(5)))
