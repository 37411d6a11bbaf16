"""A text by rounds of speculative sampling: draft, verify, go on behind the accepted tokens.

draft, target: models, as functions of the tokens so far to a row. A fault of a rule between rounds
and positions shows in the distribution of the whole text, which must be the target's.

Tests: tests/reference/test_speculative.py
"""

from collections.abc import Callable, Sequence
from typing import Any

from sampler_parity.reference.speculative.chance import Chance, Row
from sampler_parity.reference.speculative.one_draft import draw

Model = Callable[[tuple[int, ...]], Row]
Verify = Callable[[Chance, Sequence[int], Sequence[Row], Sequence[Row]], tuple[int, ...]]


def one_round(
    chance: Chance, verify: Verify, draft: Model, target: Model, gamma: int, past: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the tokens of a round that drafts gamma of them."""
    tokens: list[int] = []
    rows: list[Row] = []
    for _ in range(gamma):
        rows.append(draft((*past, *tokens)))
        tokens.append(draw(chance, rows[-1]))
    targets = [target((*past, *tokens[:i])) for i in range(gamma + 1)]
    return verify(chance, tokens, rows, targets)


def text(
    chance: Chance, verify: Verify, draft: Model, target: Model, gamma: int, n: int
) -> tuple[int, ...]:
    """Return the first n tokens."""
    past: tuple[int, ...] = ()
    while len(past) < n:
        past += one_round(chance, verify, draft, target, gamma, past)
    return past[:n]


def distribution_without_draft(target: Model, n: int) -> dict[tuple[int, ...], Any]:
    """Return the distribution of n tokens drawn one by one: every lossless rule must have it."""
    distribution: dict[tuple[int, ...], Any] = {(): 1}
    for _ in range(n):
        distribution = {
            (*past, token): p * chance
            for past, p in distribution.items()
            for token, chance in enumerate(target(past))
            if chance > 0
        }
    return distribution
