"""Texts by rounds of speculative sampling, wrong in what goes from one round to the next. A round
alone is right; the law of the text is not, from the token on where the fault is."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from sampler_parity.harness.checks.distribution.speculative_stages import CLOSE
from sampler_parity.harness.faults.part import Part
from sampler_parity.harness.faults.speculative import drafting, target
from sampler_parity.reference.speculative import rounds
from sampler_parity.reference.speculative.chance import Chance, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import accepts, draw, residual, verify

Tokens = tuple[int, ...]
Text = Callable[[Chance], Tokens]
LENGTH = 3  # of the texts; a round drafts one token and gives one or two


def right_text(chance: Chance) -> Tokens:
    return rounds.text(chance, verify, drafting, target, 1, LENGTH)


def bonus_number_drafts_next(chance: Chance) -> Tokens:
    """The number that drew the bonus draws the next draft, as where both begin with one seed."""
    past: Tokens = ()
    number = chance.uniform()
    while len(past) < LENGTH:
        p, q = target(past), drafting(past)
        token = chance.index(number, q)
        number = chance.uniform()
        if not accepts(chance, p, q, token):
            past += (draw(chance, residual(p, q)),)
        else:
            past += (token,)
            past += (chance.index(number, target(past)),)
    return past[:LENGTH]


def rejected_draft_in_history(chance: Chance) -> Tokens:
    """The target of the next round still has the rejected draft in the place of what came out."""
    past: Tokens = ()
    known: Tokens = ()
    while len(past) < LENGTH:
        p, q = target(known), drafting(past)
        token = draw(chance, q)
        if accepts(chance, p, q, token):
            emitted: Tokens = (token, draw(chance, target((*known, token))))
            past, known = past + emitted, known + emitted
        else:
            past, known = (*past, draw(chance, residual(p, q))), (*known, token)
    return past[:LENGTH]


def bonus_not_in_history(chance: Chance) -> Tokens:
    """The target of the next round does not know the bonus."""
    past: Tokens = ()
    known: Tokens = ()
    while len(past) < LENGTH:
        draft, judge = _behind(drafting, past), _behind(target, known)
        emitted = rounds.one_round(chance, verify, draft, judge, 1, ())
        past, known = past + emitted, known + emitted[:1]
    return past[:LENGTH]


def _behind(model: rounds.Model, known: Tokens) -> rounds.Model:
    return lambda new: model((*known, *new))


def check_text(text: Text) -> str:
    """Each token, given those before, has the law of the target."""
    got, want = enumerate_outcomes(text), rounds.law_without_draft(target, LENGTH)
    for n in range(1, LENGTH + 1):
        one, other = _beginnings(got, n), _beginnings(want, n)
        off = {tokens: abs(one[tokens] - p) for tokens, p in other.items()}
        worst = max(off, key=off.__getitem__)
        if abs(one[worst] - other[worst]) > CLOSE:
            chances = f"{one[worst]:.6g}, not {other[worst]:.6g}"
            return f"token {n - 1}: texts that begin {worst} have {chances}"
    return ""


def _beginnings(law: dict[Tokens, Any], n: int) -> dict[Tokens, Any]:
    sums: dict[Tokens, Any] = defaultdict(int)
    for tokens, p in law.items():
        sums[tokens[:n]] += p
    return sums


PARTS = tuple(
    Part(f"speculative/{make.__name__.replace('_', '-')}", make, right_text, check_text, cause)
    for make, cause in (
        (bonus_number_drafts_next, "token 2"),
        (rejected_draft_in_history, "token 1"),
        (bonus_not_in_history, "token 2"),
    )
)
