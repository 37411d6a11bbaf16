"""Rules that are not lossless, and by how much."""

from fractions import Fraction

import numpy as np
import pytest

from sampler_parity.reference.speculative.rules import (
    distribution_of,
    thresholds,
    tv_of,
    typical_acceptance,
)
from tests.support.speculative import P, Q, row


def test_thresholds_of_one_are_lossless() -> None:
    assert tv_of(thresholds(1, 1), P, Q) == 0


def test_a_single_threshold_accepts_what_it_should_draw() -> None:
    """p = (5, 3, 2), q = (2, 7, 1) tenths, single 3/10: 0 and 1 are accepted whenever drafted. 2,
    drafted in 1 of 10, is accepted in 2 of 10, else 0 and 1 come as 5 : 3. 0: 2/10 + 8/100 * 5/8
    = 1/4, 1: 7/10 + 8/100 * 3/8 = 73/100, 2: 2/100. TV = 25/100 + 18/100."""
    rule = thresholds(single=Fraction(3, 10))
    hundredths = [Fraction(part, 100) for part in (25, 73, 2)]
    assert distribution_of(rule, P, Q).tolist() == hundredths
    assert tv_of(rule, P, Q) == Fraction(43, 100)


def test_an_accumulated_threshold_accepts_too_often() -> None:
    """accumulated 1/2, q at token 1: accepted in 6 of 10, and not in 3."""
    distribution = distribution_of(thresholds(accumulated=Fraction(1, 2)), P, row(0, 1, 0))
    assert distribution[1] == Fraction(6, 10)
    assert distribution[0] == Fraction(4, 10) * Fraction(5, 7)


def test_typical_acceptance_takes_every_likely_draft() -> None:
    """H(5, 3, 2 tenths) = 1.03 nats: 0.3 exp(-H) = 0.107 is above epsilon, 0.09.

    Every p is above that, so the distribution is the draft's, and the TV that of q from p: 4/10.
    """
    assert distribution_of(typical_acceptance(), P, Q).tolist() == Q.tolist()
    assert tv_of(typical_acceptance(), P, Q) == Fraction(4, 10)


def test_typical_acceptance_draws_where_the_draft_is_unlikely() -> None:
    """Token 2 has p = 1/20 < 0.09: drafted always, never accepted as it stands, p comes out."""
    p = row(14, 5, 1)
    assert distribution_of(typical_acceptance(), p, row(0, 0, 1)).tolist() == p.tolist()


@pytest.mark.parametrize("rule", [thresholds(0.3), typical_acceptance()])
def test_floats_give_the_same_distance_as_fractions_give(rule: object) -> None:
    exact = tv_of(rule, P, Q)  # type: ignore[arg-type]
    rounded = tv_of(rule, P.astype(np.float64), Q.astype(np.float64))  # type: ignore[arg-type]
    assert abs(float(exact) - rounded) < 1e-12
