"""Several drafted tokens for one position: each rule is lossless, exactly."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings

from sampler_parity.reference.speculative import several_drafts as several
from sampler_parity.reference.speculative.chance import Chance, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import acceptance
from tests.support.examples import examples
from tests.support.speculative import P, Q, row, rows

Draw = Callable[[Chance, Row, int], tuple[int, ...]]
Select = Callable[[Chance, Any, Row, Row], tuple[int, bool]]
RULES: dict[str, tuple[Draw, Select]] = {
    "with_replacement": (several.drawn_with_replacement, several.with_replacement),
    "without_replacement": (several.drawn_without_replacement, several.without_replacement),
    "k_seq": (several.drawn_with_replacement, several.k_seq),
    "one_coin": (several.drawn_without_replacement, several.one_coin),
}


def outcomes(draw: Draw, select: Select, p: Row, q: Row, k: int) -> dict[tuple[int, bool], Any]:
    """Return the distribution of the token and whether it is an accepted draft."""
    return enumerate_outcomes(lambda chance: select(chance, draw(chance, q, k), p, q))


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "select"), RULES.values(), ids=RULES)
@pytest.mark.parametrize("k", [1, 2, 3])
@settings(max_examples=examples(15), deadline=None)
@given(p=rows(3), q=rows(3))
def test_the_token_has_the_distribution_of_the_target(
    draw: Draw, select: Select, k: int, p: Row, q: Row
) -> None:
    distribution = outcomes(draw, select, p, q, k)
    for token in range(3):
        assert distribution.get((token, True), 0) + distribution.get((token, False), 0) == p[token]


def test_k_seq_may_take_a_smaller_rho_that_is_right() -> None:
    """rho = 3/2, k = 2: beta = 2/10 + 2/10 + 1/10 = 1/2, and 1 - (1/2)^2 = 3/4 = rho beta."""

    def select(chance: Chance, tokens: Any, p: Row, q: Row) -> tuple[int, bool]:
        return several.k_seq(chance, tokens, p, q, Fraction(3, 2))

    distribution = outcomes(several.drawn_with_replacement, select, P, Q, 2)
    assert [
        distribution.get((t, True), 0) + distribution.get((t, False), 0) for t in range(3)
    ] == P.tolist()


@settings(max_examples=examples(30), deadline=None)
@given(p=rows(3), q=rows(3))
def test_a_second_draft_is_accepted_no_less_often(p: Row, q: Row) -> None:
    assume(p.tolist() != q.tolist())
    one = acceptance(p, q)
    for draw, select in list(RULES.values())[:2]:
        distribution = outcomes(draw, select, p, q, 2)
        drafted = sum(share for (_, is_drafted), share in distribution.items() if is_drafted)
        assert drafted >= one


def test_two_drafts_are_accepted_as_often_as_worked_out_by_hand() -> None:
    """p = (5, 3, 2), q = (2, 7, 1) tenths. The first is rejected, always as token 1, in 4 of 10;
    p is then (3/4, 0, 1/4). With replacement the second is 0 or 2, 3 of 10, and is accepted;
    without, q is then (2/3, 0, 1/3): min((3, 0, 1)/4, (2, 0, 1)/3) = 2/3 + 1/4 = 11/12."""
    drafted = {}
    for name in ("with_replacement", "without_replacement"):
        distribution = outcomes(*RULES[name], P, Q, 2)
        not_drafted = sum(
            share for (_, is_drafted), share in distribution.items() if not is_drafted
        )
        drafted[name] = 1 - not_drafted
    six, four = Fraction(6, 10), Fraction(4, 10)
    assert drafted["with_replacement"] == six + four * Fraction(3, 10)
    assert drafted["without_replacement"] == six + four * Fraction(11, 12)


def test_without_leaves_nothing_of_a_row_of_one_token() -> None:
    assert several.without(row(0, 1), 1).tolist() == [0, 0]
    drawn = enumerate_outcomes(
        lambda chance: several.drawn_without_replacement(chance, row(0, 1), 3)
    )
    assert drawn == {(1,): 1}
