"""Speculative sampling with several drafts of one position, and at the ends of chance: wrong in one
way each, caught by the exact law, where the fault is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sampler_parity.harness.checks.distribution.speculative_stages import CLOSE
from sampler_parity.harness.faults.part import Part
from sampler_parity.reference.speculative import several_drafts
from sampler_parity.reference.speculative.chance import Chance, Drawn, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import accepts, draw, residual

Drafts = Sequence[int]
Select = Callable[[Chance, Drafts, Row, Row], tuple[int, bool]]

# Token 3 is rejected most often; what is left of the draft has then too much of token 1.
_P, _Q = np.array([4, 3, 2, 1]) / 10, np.array([1, 2, 1, 6]) / 10


class AcceptsAtEquality:
    """u <= p / q: u = 0 accepts a token that the target cannot give."""

    def __call__(self, chance: Chance, p: Row, q: Row, token: int) -> bool:
        return bool(chance.uniform() <= p[token] / q[token])


class _Zero(Drawn):
    def uniform(self) -> float:
        return 0.0


def check_at_zero(judge: Callable[[Chance, Row, Row, int], bool]) -> str:
    """The smallest uniform number accepts no impossible token."""
    p, q = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    accepted = judge(_Zero(np.random.default_rng(0)), p, q, 0)
    return "accept: a token of probability 0 at u = 0" if accepted else ""


def rejected_draft_stays(chance: Chance, tokens: Drafts, p: Row, q: Row) -> tuple[int, bool]:
    """Drawn without replacement, and a rejected draft is not taken out of q."""
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        p = residual(p, q)
    return draw(chance, p), False


def target_not_reduced(chance: Chance, tokens: Drafts, p: Row, q: Row) -> tuple[int, bool]:
    """The second draft is judged by the target's whole row, the first one's share not taken off."""
    rest = p
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        rest, q = residual(rest, q), several_drafts.without(q, token)
    return draw(chance, rest), False


def left_over_not_normalised(chance: Chance, tokens: Drafts, p: Row, q: Row) -> tuple[int, bool]:
    """What is left of q behind a rejected draft is not normalised."""
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        p, q = residual(p, q), np.where(np.arange(len(q)) == token, 0, q)
    return draw(chance, p), False


def first_residual_only(chance: Chance, tokens: Drafts, p: Row, q: Row) -> tuple[int, bool]:
    """Behind all drafts the residual of the first is drawn from: the second is not removed."""
    last = residual(p, q)
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        p, q = residual(p, q), several_drafts.without(q, token)
    return draw(chance, last), False


def check_several(select: Select) -> str:
    """Two drafts, without replacement: each is accepted as often as it must be, and what is drawn
    behind both has the right law."""
    got, want = _law(select), _law(several_drafts.without_replacement)
    for stage, drafted in ("accept", True), ("recover", False):
        for outcome in sorted(got.keys() | want.keys()):
            tokens, token, is_drafted = outcome
            one, other = got.get(outcome, 0), want.get(outcome, 0)
            if is_drafted == drafted and abs(one - other) > CLOSE:
                return f"{stage}: {token} of {tokens} has {one:.6g}, not {other:.6g}"
    return ""


def _law(select: Select) -> dict[tuple[tuple[int, ...], int, bool], Any]:
    def experiment(chance: Chance) -> tuple[tuple[int, ...], int, bool]:
        tokens = several_drafts.drawn_without_replacement(chance, _Q, 2)
        return tokens, *select(chance, tokens, _P, _Q)

    return enumerate_outcomes(experiment)


def _several(make: Select, cause: str) -> Part:
    name = f"speculative/{make.__name__.replace('_', '-')}"
    return Part(name, make, several_drafts.without_replacement, check_several, cause)


PARTS = (
    Part("speculative/accepts-at-equality", AcceptsAtEquality(), accepts, check_at_zero, "accept"),
    _several(rejected_draft_stays, "accept"),
    _several(target_not_reduced, "accept"),
    _several(left_over_not_normalised, "accept"),
    _several(first_residual_only, "recover"),
)
