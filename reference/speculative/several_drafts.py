"""Several drafted tokens for one position: each may be accepted, at most one is.

with_replacement (SpecInfer's multi-round rejection): the k tokens are drawn from q independently.
    In turn: accept with min(1, p(x) / q(x)), else p becomes norm(max(0, p - q)).
without_replacement (recursive rejection sampling): each is drawn from the rest of q. As above,
    and after a rejection q loses that token and is normalised again.
k_seq (SpecTr): the k tokens are drawn from q independently. In turn: accept with min(1, p(x) /
    (rho q(x))); if all fail, draw from the remainder.

        remainder: p - min(q, p / rho) (1 - (1 - beta)^k) / beta,   beta = sum min(q, p / rho)

    A right rho has 1 - (1 - beta)^k <= rho beta; rho = k always has.
one_coin (SGLang, target only): the tokens are any, all different; q is not used. One number u is
    compared with p(x_1), then with p(x_1) + p(x_2), ...; if all fail, draw from p without them.

Each returns a token with the target's distribution for any q, and whether it is an accepted draft.

Sources: Miao et al. 2024 (arXiv 2305.09781), Algorithm 2; Yang et al. 2024 (arXiv 2401.06706) and
    Chen et al. 2024, Sequoia (arXiv 2402.12374); Sun et al. 2023 (arXiv 2310.15141), Algorithm 2;
    SGLang's kernel tree_speculative_sampling_target_only with both thresholds at 1.
Tests: tests/reference/test_speculative_several.py
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sampler_parity.reference.speculative.chance import Chance, Row
from sampler_parity.reference.speculative.one_draft import accepts, draw, residual


def drawn_with_replacement(chance: Chance, q: Row, k: int) -> tuple[int, ...]:
    return tuple(draw(chance, q) for _ in range(k))


def drawn_without_replacement(chance: Chance, q: Row, k: int) -> tuple[int, ...]:
    """Draw k tokens from q without replacement; fewer if q cannot give so many."""
    tokens: list[int] = []
    while len(tokens) < k and q.sum() > 0:
        tokens.append(draw(chance, q))
        q = without(q, tokens[-1])
    return tuple(tokens)


def without(q: Row, token: int) -> Row:
    """Return q without a token, normalised; all zeros if nothing is left."""
    remaining = q.copy()
    remaining[token] = remaining[token] * 0
    total = remaining.sum()
    return remaining / total if total > 0 else remaining


def with_replacement(chance: Chance, tokens: Sequence[int], p: Row, q: Row) -> tuple[int, bool]:
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        p = residual(p, q)
    return draw(chance, p), False


def without_replacement(chance: Chance, tokens: Sequence[int], p: Row, q: Row) -> tuple[int, bool]:
    for token in tokens:
        if accepts(chance, p, q, token):
            return token, True
        p, q = residual(p, q), without(q, token)
    return draw(chance, p), False


def k_seq(
    chance: Chance, tokens: Sequence[int], p: Row, q: Row, rho: Any = None
) -> tuple[int, bool]:
    """Accept by SpecTr's rule. rho: the number of tokens by default."""
    k = len(tokens)
    rho = k if rho is None else rho
    for token in tokens:
        if accepts(chance, p / rho, q, token):
            return token, True
    shared = np.minimum(q, p / rho)
    beta = shared.sum()
    rest = np.maximum(p - shared * (1 - (1 - beta) ** k) / beta, 0) if beta > 0 else p
    return draw(chance, rest), False


def one_coin(chance: Chance, tokens: Sequence[int], p: Row, q: Row) -> tuple[int, bool]:
    coin, reached, rest = chance.uniform(), 0, p.copy()
    for token in tokens:
        reached = reached + p[token]
        if chance.below(coin, reached):
            return token, True
        rest[token] = rest[token] * 0
    return draw(chance, rest), False
