"""Rounds of speculative sampling, wrong in one way each. The exact law of what each does is taken
apart, and it is wrong first at the stage where the fault is."""

from collections.abc import Callable, Sequence

import numpy as np

from sampler_parity.harness.checks.distribution.speculative_stages import Law, first_difference
from sampler_parity.harness.faults.part import Part
from sampler_parity.reference.speculative import several_drafts
from sampler_parity.reference.speculative.chance import Chance, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import accepts, draw, residual, verify
from sampler_parity.reference.speculative.rounds import Model

Tokens = tuple[int, ...]
Drafts = Sequence[int]
Rows = Sequence[Row]


def _row(*parts: float) -> Row:
    return np.array(parts) / sum(parts)


# The draft is wrong in each row, and differently; a row depends on the token before.
_P = [_row(5, 3, 2), _row(1, 4, 2), _row(3, 1, 1), _row(2, 2, 3)]
_Q = [_row(2, 7, 1), _row(3, 1, 2), _row(1, 1, 2), _row(4, 1, 1)]
GAMMA = 2


def target(past: Tokens) -> Row:
    return _P[0 if not past else 1 + past[-1]]


def drafting(past: Tokens) -> Row:
    return _Q[0 if not past else 1 + past[-1]]


def _half_as_hot(row: Row) -> Row:
    colder: Row = row**2
    colder /= colder.sum()
    return colder


def _two_likeliest(row: Row) -> Row:
    left: Row = np.where(row >= np.sort(row)[-2], row, 0)
    left /= left.sum()
    return left


Round = Callable[[Chance, Model, Model], tuple[Tokens, Tokens]]  # a draft and what comes of it


def right_round(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    return _round_of(verify)(chance, draft, model)


def _round_of(verifying: Callable[..., Tokens]) -> Round:
    def one(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
        tokens, rows = _drafted(chance, draft)
        targets = [model(tokens[:i]) for i in range(GAMMA + 1)]
        return tokens, verifying(chance, tokens, rows, targets)

    return one


def _drafted(chance: Chance, draft: Model) -> tuple[Tokens, list[Row]]:
    tokens: Tokens = ()
    rows: list[Row] = []
    for _ in range(GAMMA):
        rows.append(draft(tokens))
        tokens += (draw(chance, rows[-1]),)
    return tokens, rows


def law_of(one_round: Round) -> Law:
    return enumerate_outcomes(lambda chance: one_round(chance, drafting, target))


def check_round(one_round: Round) -> str:
    """The law of a round is the right one, stage by stage."""
    return first_difference(law_of(one_round), law_of(right_round))


def _position(
    judge: Callable[[Chance, Row, Row, int], bool], recover: Callable[[Chance, Row, Row], int]
) -> Round:
    """A round that accepts and recovers in these ways."""

    def verifying(chance: Chance, draft: Drafts, rows: Rows, targets: Rows) -> Tokens:
        for i, (token, q) in enumerate(zip(draft, rows, strict=True)):
            if not judge(chance, targets[i], q, token):
                return (*draft[:i], recover(chance, targets[i], q))
        return (*draft, draw(chance, targets[-1]))

    return _round_of(verifying)


def _recover(chance: Chance, p: Row, q: Row) -> int:
    return draw(chance, residual(p, q))


def _accepting(judge: Callable[[Chance, Row, Row, int], bool]) -> Round:
    return _position(judge, _recover)


def _recovering(recover: Callable[[Chance, Row, Row], int]) -> Round:
    return _position(accepts, recover)


def accept_inverted(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A draft is accepted with min(1, q / p)."""
    return _accepting(lambda c, p, q, x: c.below(c.uniform(), q[x] / p[x]))(chance, draft, model)


def accept_always(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """Every draft is accepted."""
    return _accepting(lambda c, p, q, x: True)(chance, draft, model)


def accept_argmax(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A draft is accepted where it is the target's likeliest token, as at temperature 0."""
    return _accepting(lambda c, p, q, x: bool(p[x] == p.max()))(chance, draft, model)


def accept_by_target_alone(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A draft is accepted with p, as if the draft were certain; recovery takes q into account."""
    return _accepting(lambda c, p, q, x: c.below(c.uniform(), p[x]))(chance, draft, model)


def draft_row_filtered(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The draft's row is taken after filters that it was not drawn through."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        return verify(c, tokens, [_two_likeliest(q) for q in rows], targets)

    return _round_of(verifying)(chance, draft, model)


def draft_row_unfiltered(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The draft is drawn through a filter, and its row taken before."""
    tokens, _ = _drafted(chance, lambda past: _two_likeliest(draft(past)))
    rows = [draft(tokens[:i]) for i in range(GAMMA)]
    targets = [model(tokens[:i]) for i in range(GAMMA + 1)]
    return tokens, verify(chance, tokens, rows, targets)


def target_without_temperature(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The temperature is applied to the draft's side alone."""
    return right_round(chance, draft, lambda past: _half_as_hot(model(past)))


def draft_without_temperature(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The row that the draft is judged by lacks the temperature that it was drawn at."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        return verify(c, tokens, [_half_as_hot(q) for q in rows], targets)

    return _round_of(verifying)(chance, draft, model)


def recover_from_target(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A rejected draft is replaced by a draw from the target, the draft's share not taken off."""
    return _recovering(lambda c, p, q: draw(c, p))(chance, draft, model)


def recover_not_normalised(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """max(0, p - q) is drawn from as if it summed to 1: what is missing falls to the last token."""

    def recover(c: Chance, p: Row, q: Row) -> int:
        u, running = c.uniform(), np.cumsum(np.maximum(p - q, 0))
        return next((i for i in range(len(p)) if c.below(u, running[i])), len(p) - 1)

    return _recovering(recover)(chance, draft, model)


def recover_absolute(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A rejected draft is replaced from |p - q|: what the draft has too much of comes again."""
    return _recovering(lambda c, p, q: draw(c, abs(p - q)))(chance, draft, model)


def recover_without_draft(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A rejected draft is replaced from p without that token, as where the draft is certain."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        for i, token in enumerate(tokens):
            if not accepts(c, targets[i], rows[i], token):
                return (*tokens[:i], draw(c, several_drafts.without(targets[i], token)))
        return (*tokens, draw(c, targets[-1]))

    return _round_of(verifying)(chance, draft, model)


def recover_from_next_row(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """A rejected draft is replaced from the target's row behind it."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        for i, token in enumerate(tokens):
            if not accepts(c, targets[i], rows[i], token):
                return (*tokens[:i], draw(c, residual(targets[i + 1], rows[i])))
        return (*tokens, draw(c, targets[-1]))

    return _round_of(verifying)(chance, draft, model)


def recover_by_the_same_number(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The number that rejected a draft draws its replacement, too (vLLM Ascend PR 16370)."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
            u = c.uniform()
            if not c.below(u, targets[i][token] / q[token]):
                return (*tokens[:i], c.index(u, residual(targets[i], q)))
        return (*tokens, draw(c, targets[-1]))

    return _round_of(verifying)(chance, draft, model)


def accept_by_the_drafts_number(
    chance: Chance, draft: Model, model: Model
) -> tuple[Tokens, Tokens]:
    """The number that drew a draft judges it, too (vLLM PR 47386)."""
    tokens: Tokens = ()
    numbers = []
    for _ in range(GAMMA):
        numbers.append(chance.uniform())
        tokens += (chance.index(numbers[-1], draft(tokens)),)
    for i, token in enumerate(tokens):
        p, q = model(tokens[:i]), draft(tokens[:i])
        if not chance.below(numbers[i], p[token] / q[token]):
            return tokens, (*tokens[:i], _recover(chance, p, q))
    return tokens, (*tokens, draw(chance, model(tokens)))


def one_number_for_all(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """One number judges every position of a round."""
    tokens, rows = _drafted(chance, draft)
    u = chance.uniform()
    for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
        p = model(tokens[:i])
        if not chance.below(u, p[token] / q[token]):
            return tokens, (*tokens[:i], _recover(chance, p, q))
    return tokens, (*tokens, draw(chance, model(tokens)))


def history_not_advanced(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The target's rows behind the first do not know the drafted tokens before them."""
    return right_round(chance, draft, lambda past: model(()))


def bonus_missing(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """Behind a whole draft nothing is drawn."""
    tokens, emitted = right_round(chance, draft, model)
    return tokens, emitted[:GAMMA]


def bonus_from_the_row_before(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The token behind a whole draft is drawn from the row of the last drafted one."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        return verify(c, tokens, rows, [*targets[:-1], targets[-2]])

    return _round_of(verifying)(chance, draft, model)


def stops_early(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """The last drafted token is never judged: lossless, and a token short."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        return verify(c, tokens[:-1], rows[:-1], targets[:-1])

    return _round_of(verifying)(chance, draft, model)


def stops_late(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    """Behind a rejected draft the round goes on."""

    def verifying(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        emitted: Tokens = ()
        for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
            is_accepted = accepts(c, targets[i], q, token)
            emitted += (token if is_accepted else _recover(c, targets[i], q),)
        return (*emitted, draw(c, targets[-1]))

    return _round_of(verifying)(chance, draft, model)


def _round(make: Round, cause: str) -> Part:
    name = f"speculative/{make.__name__.replace('_', '-')}"
    return Part(name, make, right_round, check_round, cause)


PARTS = (
    _round(accept_inverted, "accept 0"),
    _round(accept_always, "accept 0"),
    _round(accept_argmax, "accept 0"),
    _round(accept_by_target_alone, "accept 0"),
    _round(accept_by_the_drafts_number, "accept 0"),
    _round(one_number_for_all, "accept 1"),
    _round(draft_row_filtered, "accept 0"),
    _round(draft_row_unfiltered, "draft 0"),
    _round(target_without_temperature, "accept 0"),
    _round(draft_without_temperature, "accept 0"),
    _round(recover_from_target, "recover 0"),
    _round(recover_not_normalised, "recover 0"),
    _round(recover_absolute, "recover 0"),
    _round(recover_without_draft, "recover 0"),
    _round(recover_from_next_row, "recover 0"),
    _round(recover_by_the_same_number, "recover 0"),
    _round(history_not_advanced, "accept 1"),
    _round(bonus_missing, "bonus"),
    _round(bonus_from_the_row_before, "bonus"),
    _round(stops_early, "bonus"),
    _round(stops_late, "shape"),
)
