"""Speculative sampling with one draft and prefix matching: the exact distribution of the output."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.reference.speculative import one_draft, rounds
from sampler_parity.reference.speculative.chance import Drawn, Row, enumerate_outcomes
from sampler_parity.reference.speculative.rounds import Model, Verify
from sampler_parity.reference.speculative.rules import (
    RULES,
    acceptance_by_matching,
    split_of,
    verify_by_matching,
)
from tests.support.examples import examples
from tests.support.speculative import P, Q, marginal, model, row, rows

VERIFIERS = {"rejection": one_draft.verify, "matching": verify_by_matching}
TWO = model(row(3, 1), row(1, 2), row(1, 0)), model(row(1, 1), row(3, 1), row(2, 1))
THREE = model(P, row(1, 0, 3), row(2, 2, 1), row(0, 1, 1)), model(Q, *[row(1, 1, 0)] * 3)


def distribution_of_round(
    verify: Verify, drafted_from: list[Row], target: list[Row]
) -> dict[Any, Any]:
    def experiment(chance: Any) -> tuple[int, ...]:
        draft = [one_draft.draw(chance, q) for q in drafted_from]
        return verify(chance, draft, drafted_from, target)

    return enumerate_outcomes(experiment)


@pytest.mark.parametrize("verify", VERIFIERS.values(), ids=VERIFIERS)
@settings(max_examples=examples(60), deadline=None)
@given(p=rows(4), q=rows(4))
def test_the_first_token_has_the_distribution_of_the_target_whatever_the_draft(
    verify: Verify, p: Row, q: Row
) -> None:
    distribution = distribution_of_round(verify, [q], [p, p])
    assert sum(distribution.values()) == 1
    assert marginal(distribution, 4).tolist() == p.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("verify", VERIFIERS.values(), ids=VERIFIERS)
@pytest.mark.parametrize(
    ("models", "gamma", "n"), [(TWO, 0, 3), (TWO, 1, 4), (TWO, 2, 4), (TWO, 3, 2), (THREE, 1, 3)]
)
def test_texts_over_several_rounds_have_the_distribution_of_the_target(
    verify: Verify, models: tuple[Model, Model], gamma: int, n: int
) -> None:
    """Every text of n tokens, exactly as often as without a draft."""
    target, draft = models
    distribution = enumerate_outcomes(
        lambda chance: rounds.text(chance, verify, draft, target, gamma, n)
    )
    assert distribution == rounds.distribution_without_draft(target, n)


@settings(max_examples=examples(20), deadline=None)
@given(p=rows(3), q=rows(3), gamma=st.integers(1, 3))
def test_the_length_of_a_round_is_what_leviathan_says(p: Row, q: Row, gamma: int) -> None:
    for verify, acceptance in (
        (one_draft.verify, one_draft.acceptance),
        (verify_by_matching, acceptance_by_matching),
    ):
        distribution = distribution_of_round(verify, [q] * gamma, [p] * (gamma + 1))
        mean = sum(len(tokens) * share for tokens, share in distribution.items())
        assert mean == one_draft.expected_tokens(acceptance(p, q), gamma)


def test_expected_tokens_is_the_published_closed_form() -> None:
    alpha = Fraction(8, 10)
    assert one_draft.expected_tokens(alpha, 5) == (1 - alpha**6) / (1 - alpha)
    assert one_draft.expected_tokens(1, 5) == 6


def test_matching_gives_the_very_tokens_of_sampling_without_a_draft() -> None:
    """One stream of numbers, whatever the drafts: greedy verification is the same with one-hots."""
    target = [p.astype(float) for p in (P, row(1, 0, 3), row(2, 2, 1))]
    plain = Drawn(np.random.default_rng(3))
    tokens = [one_draft.draw(plain, p) for p in target]
    for draft in ([tokens[0], tokens[1]], [tokens[0], 1 - tokens[1] // 2], [2, 2]):
        chance = Drawn(np.random.default_rng(3))
        got = verify_by_matching(chance, draft, [], target)
        assert list(got) == tokens[: len(got)]


def test_a_token_that_the_target_cannot_give_is_never_accepted() -> None:
    class Zero(Drawn):
        def uniform(self) -> float:
            return 0.0

    chance = Zero(np.random.default_rng(0))
    assert not one_draft.accepts(chance, np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0)


def test_a_draft_that_its_row_cannot_give_is_rejected() -> None:
    assert enumerate_outcomes(
        lambda chance: one_draft.accepts(chance, row(1, 1), row(0, 1), 0)
    ) == {False: 1}


def test_equal_rows_leave_nothing_to_recover_from() -> None:
    with pytest.raises(ValueError, match="p is nowhere above q"):
        one_draft.residual(P, P)
    distribution = distribution_of_round(one_draft.verify, [P], [P, P])
    assert {len(tokens) for tokens in distribution} == {2}


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=examples(40), deadline=None)
@given(p=rows(3), q=rows(3))
def test_the_closed_forms_are_what_is_enumerated(name: str, p: Row, q: Row) -> None:
    rule = RULES[name]
    distribution = distribution_of_round(rule.verify, [q], [p, p])
    accepted, replaced = rule.split(p, q)
    assert (accepted + replaced).tolist() == p.tolist()
    for token in range(3):
        ends = sum(share for tokens, share in distribution.items() if tokens == (token,))
        begins = sum(
            share for (first, *rest), share in distribution.items() if rest and first == token
        )
        assert (begins, ends) == (accepted[token], replaced[token])
    for token in np.flatnonzero(q > 0).tolist():
        chance, instead = rule.given(p, q, token)
        of_token = enumerate_outcomes(lambda c, x=token: rule.verify(c, [x], [q], [p, p]))  # type: ignore[misc]
        assert chance == sum(share for tokens, share in of_token.items() if len(tokens) == 2)
        for other in range(3):
            assert of_token.get((other,), 0) == (1 - chance) * instead[other]


def test_a_rule_with_another_q_than_the_drafts_splits_as_worked_out_by_hand() -> None:
    """p 1/2, 1/2; q 3/4, 1/4 stated; token 0 drafted: accepted with 2/3, else replaced by 1."""
    p, q = np.array([Fraction(1, 2)] * 2), np.array([Fraction(3, 4), Fraction(1, 4)])
    drawn = np.array([Fraction(1), Fraction(0)])
    accepted, replaced = split_of(RULES["rejection"], p, q, drawn)
    assert accepted.tolist() == [Fraction(2, 3), 0]
    assert replaced.tolist() == [0, Fraction(1, 3)]
