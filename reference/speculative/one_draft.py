"""Speculative sampling with one draft: accept, reject, recover.

    accept a drafted x with probability min(1, p(x) / q(x))
    where it is rejected, draw from norm(max(0, p - q)) and stop
    where the whole draft is accepted, draw one more from the target's last row

p: the target's row at that position, q: the row that x was drawn from, both after all filters,
penalties and the temperature. x must be drawn from q, and by other random numbers than those that
judge it. Then the tokens have the target's distribution for any q.

Ties: u < p / q, u uniform on [0, 1): a token that the target cannot give is never accepted, one
    with p >= q always is.
Edges: q(x) = 0 cannot have been drawn; it is rejected (vLLM does so). p = q leaves no residual,
    but then nothing is rejected either.
Source: Leviathan, Kalman, Matias 2023 (arXiv 2211.17192), Algorithm 1; Chen et al. 2023 (arXiv
    2302.01318), Algorithm 2. So do vLLM's rejection_sampler.py for random requests, SGLang with
    --speculative-use-rejection-sampling, transformers' _speculative_sampling; the last two compare
    with <=, which accepts an impossible token when u is 0.
Tests: tests/reference/test_speculative.py
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sampler_parity.reference.speculative.chance import Chance, Row


def accepts(chance: Chance, p: Row, q: Row, token: int) -> bool:
    u = chance.uniform()
    return q[token] > 0 and chance.below(u, p[token] / q[token])


def residual(p: Row, q: Row) -> Row:
    """Return norm(max(0, p - q)). Raises ValueError for p = q, where nothing is ever rejected."""
    rest: Row = np.maximum(p - q, 0)
    if rest.sum() == 0:
        raise ValueError("p is nowhere above q: there is nothing to recover from")
    rest /= rest.sum()
    return rest


def draw(chance: Chance, row: Row) -> int:
    return chance.index(chance.uniform(), row)


def verify(
    chance: Chance, draft: Sequence[int], drafted_from: Sequence[Row], target: Sequence[Row]
) -> tuple[int, ...]:
    """Return the accepted tokens and one more. target: a row more than the draft has tokens."""
    for i, (token, q) in enumerate(zip(draft, drafted_from, strict=True)):
        if not accepts(chance, target[i], q, token):
            return (*draft[:i], draw(chance, residual(target[i], q)))
    return (*draft, draw(chance, target[len(draft)]))


def acceptance(p: Row, q: Row) -> Any:
    """Return the chance to accept a token drawn from q: sum min(p, q) = 1 - TV(p, q)."""
    return np.minimum(p, q).sum()


def expected_tokens(alpha: Any, drafted: int) -> Any:
    """Return the expected tokens of one round: (1 - alpha^(n+1)) / (1 - alpha).

    Each position accepts with chance alpha, independently. This is the n + 1 of Leviathan et al.,
    equation 1.
    """
    return sum(alpha**i for i in range(drafted + 1))
