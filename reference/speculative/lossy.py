"""Rules that trade the target's distribution for longer drafts, with their distance from it.

typical_acceptance (Medusa): accept x where p(x) > min(epsilon, delta exp(-H(p))), without chance;
    else draw from p. Medusa's heads draft the likeliest tokens, so q affects the distribution.
thresholds (SGLang): accept x where u < p(x) / accumulated, or p(x) >= single; else draw from p
    without x. Both at 1, SGLang's defaults, it is lossless (several_drafts.one_coin).

Both are judged at one position; `tv_of` is the total variation of the token from the target.

Sources: Cai et al. 2024 (arXiv 2401.10774), section 3.2.1, defaults of its code epsilon 0.09, delta
    0.3; SGLang's kernel tree_speculative_sampling_target_only and the options
    --speculative-accept-threshold-single and -acc.
Tests: tests/reference/test_speculative_lossy.py
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.reference.speculative.chance import Chance, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import draw

Rule = Callable[[Chance, int, Row, Row], int]  # a drafted token, p, q: the token that comes out


def typical_acceptance(epsilon: float = 0.09, delta: float = 0.3) -> Rule:
    def rule(chance: Chance, token: int, p: Row, q: Row) -> int:
        possible = p[p > 0].astype(np.float64)
        entropy = -(possible * np.log(possible)).sum()
        if p[token] > min(epsilon, delta * np.exp(-entropy)):
            return token
        return draw(chance, p)

    return rule


def thresholds(single: Any = 1, accumulated: Any = 1) -> Rule:
    def rule(chance: Chance, token: int, p: Row, q: Row) -> int:
        u = chance.uniform()
        if chance.below(u, p[token] / accumulated) or p[token] >= single:
            return token
        rest = p.copy()
        rest[token] = rest[token] * 0
        return draw(chance, rest)

    return rule


def distribution_of(rule: Rule, p: Row, q: Row) -> Row:
    """Return the distribution of the token if the draft is drawn from q."""
    distribution = enumerate_outcomes(lambda chance: rule(chance, draw(chance, q), p, q))
    return np.array([distribution.get(token, 0) for token in range(len(p))], dtype=p.dtype)


def tv_of(rule: Rule, p: Row, q: Row) -> Any:
    """Return the total variation of that distribution from p."""
    return abs(distribution_of(rule, p, q) - p).sum() / 2
