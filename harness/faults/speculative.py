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


def _round(
    accepting: Callable[[Chance, Row, Row, int], bool] = accepts,
    recovering: Callable[[Chance, Rows, int, Row, int], int] | None = None,
) -> Round:
    """A round that judges a draft in one way, and replaces a rejected one in another: with the
    rows of the target, the draft's position, its row and its token."""
    recover = recovering or (lambda c, targets, i, q, x: draw(c, residual(targets[i], q)))

    def verifying(chance: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
        for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
            if not accepting(chance, targets[i], q, token):
                return (*tokens[:i], recover(chance, targets, i, q, token))
        return (*tokens, draw(chance, targets[-1]))

    return _round_of(verifying)


def _draft_row_unfiltered(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    tokens, _ = _drafted(chance, lambda past: _two_likeliest(draft(past)))
    rows = [draft(tokens[:i]) for i in range(GAMMA)]
    targets = [model(tokens[:i]) for i in range(GAMMA + 1)]
    return tokens, verify(chance, tokens, rows, targets)


def _not_normalised(c: Chance, targets: Rows, i: int, q: Row, _token: int) -> int:
    u, running = c.uniform(), np.cumsum(np.maximum(targets[i] - q, 0))
    return next((k for k in range(len(q)) if c.below(u, running[k])), len(q) - 1)


def _by_the_same_number(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
    for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
        u = c.uniform()
        if not c.below(u, targets[i][token] / q[token]):
            return (*tokens[:i], c.index(u, residual(targets[i], q)))
    return (*tokens, draw(c, targets[-1]))


def _by_the_drafts_number(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    tokens: Tokens = ()
    numbers = []
    for _ in range(GAMMA):
        numbers.append(chance.uniform())
        tokens += (chance.index(numbers[-1], draft(tokens)),)
    for i, token in enumerate(tokens):
        p, q = model(tokens[:i]), draft(tokens[:i])
        if not chance.below(numbers[i], p[token] / q[token]):
            return tokens, (*tokens[:i], draw(chance, residual(p, q)))
    return tokens, (*tokens, draw(chance, model(tokens)))


def _one_number_for_all(chance: Chance, draft: Model, model: Model) -> tuple[Tokens, Tokens]:
    tokens, rows = _drafted(chance, draft)
    u = chance.uniform()
    for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
        p = model(tokens[:i])
        if not chance.below(u, p[token] / q[token]):
            return tokens, (*tokens[:i], draw(chance, residual(p, q)))
    return tokens, (*tokens, draw(chance, model(tokens)))


def _stops_late(c: Chance, tokens: Drafts, rows: Rows, targets: Rows) -> Tokens:
    emitted: Tokens = ()
    for i, (token, q) in enumerate(zip(tokens, rows, strict=True)):
        is_accepted = accepts(c, targets[i], q, token)
        emitted += (token if is_accepted else draw(c, residual(targets[i], q)),)
    return (*emitted, draw(c, targets[-1]))


def _part(name: str, cause: str, fault: str, one_round: Round) -> Part:
    return Part(f"speculative/{name}", one_round, right_round, check_round, cause, fault)


PARTS = (
    _part(
        "accept-inverted",
        "accept 0",
        "A draft is accepted with min(1, q / p).",
        _round(lambda c, p, q, x: c.below(c.uniform(), q[x] / p[x])),
    ),
    _part(
        "accept-always",
        "accept 0",
        "Every draft is accepted.",
        _round(lambda c, p, q, x: True),
    ),
    _part(
        "accept-argmax",
        "accept 0",
        "A draft is accepted where it is the target's likeliest token, as at temperature 0.",
        _round(lambda c, p, q, x: bool(p[x] == p.max())),
    ),
    _part(
        "accept-by-target-alone",
        "accept 0",
        "A draft is accepted with p, as if the draft were certain; recovery takes q into account.",
        _round(lambda c, p, q, x: c.below(c.uniform(), p[x])),
    ),
    _part(
        "accept-by-the-drafts-number",
        "accept 0",
        "The number that drew a draft judges it, too (vLLM PR 47386).",
        _by_the_drafts_number,
    ),
    _part(
        "one-number-for-all",
        "accept 1",
        "One number judges every position of a round.",
        _one_number_for_all,
    ),
    _part(
        "draft-row-filtered",
        "accept 0",
        "The draft's row is taken after filters that it was not drawn through.",
        _round_of(lambda c, x, rows, p: verify(c, x, [_two_likeliest(q) for q in rows], p)),
    ),
    _part(
        "draft-row-unfiltered",
        "draft 0",
        "The draft is drawn through a filter, and its row taken before.",
        _draft_row_unfiltered,
    ),
    _part(
        "target-without-temperature",
        "accept 0",
        "The temperature is applied to the draft's side alone.",
        lambda c, draft, model: right_round(c, draft, lambda past: _half_as_hot(model(past))),
    ),
    _part(
        "draft-without-temperature",
        "accept 0",
        "The row that the draft is judged by lacks the temperature that it was drawn at.",
        _round_of(lambda c, x, rows, p: verify(c, x, [_half_as_hot(q) for q in rows], p)),
    ),
    _part(
        "recover-from-target",
        "recover 0",
        "A rejected draft is replaced by a draw from the target, the draft's share not taken off.",
        _round(recovering=lambda c, targets, i, q, x: draw(c, targets[i])),
    ),
    _part(
        "recover-not-normalised",
        "recover 0",
        "max(0, p - q) is drawn from as if it summed to 1: the last token takes the rest.",
        _round(recovering=_not_normalised),
    ),
    _part(
        "recover-absolute",
        "recover 0",
        "A rejected draft is replaced from |p - q|: what the draft has too much of comes again.",
        _round(recovering=lambda c, targets, i, q, x: draw(c, abs(targets[i] - q))),
    ),
    _part(
        "recover-without-draft",
        "recover 0",
        "A rejected draft is replaced from p without that token, as where the draft is certain.",
        _round(recovering=lambda c, p, i, q, x: draw(c, several_drafts.without(p[i], x))),
    ),
    _part(
        "recover-from-next-row",
        "recover 0",
        "A rejected draft is replaced from the target's row behind it.",
        _round(recovering=lambda c, targets, i, q, x: draw(c, residual(targets[i + 1], q))),
    ),
    _part(
        "recover-by-the-same-number",
        "recover 0",
        "The number that rejected a draft draws its replacement, too (vLLM Ascend PR 16370).",
        _round_of(_by_the_same_number),
    ),
    _part(
        "history-not-advanced",
        "accept 1",
        "The target's rows behind the first do not know the drafted tokens before them.",
        lambda c, draft, model: right_round(c, draft, lambda past: model(())),
    ),
    _part(
        "bonus-missing",
        "bonus",
        "Behind a whole draft nothing is drawn.",
        _round_of(lambda c, x, rows, targets: verify(c, x, rows, targets)[:GAMMA]),
    ),
    _part(
        "bonus-from-the-row-before",
        "bonus",
        "The token behind a whole draft is drawn from the row of the last drafted one.",
        _round_of(lambda c, x, rows, p: verify(c, x, rows, [*p[:-1], p[-2]])),
    ),
    _part(
        "stops-early",
        "bonus",
        "The last drafted token is never judged: lossless, and a token short.",
        _round_of(lambda c, x, rows, targets: verify(c, x[:-1], rows[:-1], targets[:-1])),
    ),
    _part(
        "stops-late",
        "shape",
        "Behind a rejected draft the round goes on.",
        _round_of(_stops_late),
    ),
)
