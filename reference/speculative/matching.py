"""Prefix matching: sample with the target, and go on as long as the draft agrees.

Each token is the target's own draw, and the draft is only a guess. So the tokens have the target's
distribution for any draft, and with one stream of random numbers they are those of sampling without
a draft. The price is acceptance: a draft from q meets the target's draw with chance sum p q, which
is never above sum min(p, q). For a draft that is no draw but a guess (n-grams, a greedy model: q is
1 at x) both are p(x).

At temperature 0 p is 1 at the largest logit, and this is greedy verification.

Source: common_sampler_sample_and_accept_n, common/sampling.cpp of llama.cpp at v0.5.0, which stops
    at a token that ends the generation, too (reference/pipelines/common_sampler.py has all of it);
    vLLM's greedy requests.
Tests: tests/reference/test_speculative.py
"""

from collections.abc import Sequence
from typing import Any

from sampler_parity.reference.speculative.chance import Chance, Row
from sampler_parity.reference.speculative.one_draft import draw


def verify(
    chance: Chance, draft: Sequence[int], drafted_from: Sequence[Row], target: Sequence[Row]
) -> tuple[int, ...]:
    """Return the tokens, as in one_draft; the distribution behind the draft does not matter."""
    tokens: list[int] = []
    for i, row in enumerate(target):
        tokens.append(draw(chance, row))
        if i == len(draft) or tokens[-1] != draft[i]:
            break
    return tuple(tokens)


def acceptance(p: Row, q: Row) -> Any:
    return (p * q).sum()
