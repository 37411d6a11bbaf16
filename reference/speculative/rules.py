"""Rules along a draft: two that are lossless, by name, and two that are lossy, with their distance.

Lossless, with the effect of each at one position in closed form:

rejection: reference/speculative/one_draft.py.
matching: each token is the target's own draw, and the draft is only a guess; go on as long as it
    agrees. So the tokens have the target's distribution for any draft, and with one stream of
    random numbers they are those of sampling without a draft. The price is acceptance: a draft from
    q meets the target's draw with chance sum p q, which is never above sum min(p, q). For a draft
    that is no draw but a guess (n-grams, a greedy model: q is 1 at x) both are p(x). At temperature
    0 p is 1 at the largest logit, and this is greedy verification.

given: the draft token x, the chance that it is accepted, and the distribution of its replacement.
split: over all x drawn from q, the part that comes from accepted drafts and the part that comes
from replacements. Both together are p, which is why the rule is lossless.

Lossy, judged at one position; `tv_of` is the total variation of the token from the target:

typical_acceptance (Medusa): accept x where p(x) > min(epsilon, delta exp(-H(p))), without chance;
    else draw from p. Medusa's heads draft the likeliest tokens, so q affects the distribution.
thresholds (SGLang): accept x where u < p(x) / accumulated, or p(x) >= single; else draw from p
    without x. Both at 1, SGLang's defaults, it is lossless (several_drafts.one_coin).

Sources: common_sampler_sample_and_accept_n, common/sampling.cpp of llama.cpp at v0.5.0, which stops
    at a token that ends the generation, too (reference/pipelines/common_sampler.py has all of it);
    vLLM's greedy requests; Cai et al. 2024 (arXiv 2401.10774), section 3.2.1, defaults of its code
    epsilon 0.09, delta 0.3; SGLang's kernel tree_speculative_sampling_target_only and the options
    --speculative-accept-threshold-single and -acc.
Tests: tests/reference/test_speculative.py compares the lossless ones with their enumeration;
    tests/reference/test_speculative_lossy.py
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.reference.speculative import one_draft
from sampler_parity.reference.speculative.chance import Chance, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import draw
from sampler_parity.reference.speculative.rounds import Verify
from sampler_parity.reference.speculative.several_drafts import without


def verify_by_matching(
    chance: Chance, draft: Sequence[int], drafted_from: Sequence[Row], target: Sequence[Row]
) -> tuple[int, ...]:
    """Return the tokens, as in one_draft; the distribution behind the draft does not matter."""
    tokens: list[int] = []
    for i, row in enumerate(target):
        tokens.append(draw(chance, row))
        if i == len(draft) or tokens[-1] != draft[i]:
            break
    return tuple(tokens)


def acceptance_by_matching(p: Row, q: Row) -> Any:
    return (p * q).sum()


@dataclass(frozen=True)
class Rule:
    verify: Verify
    acceptance: Callable[[Row, Row], Any]
    given: Callable[[Row, Row, int], tuple[Any, Row]]
    split: Callable[[Row, Row], tuple[Row, Row]]


def _rejection_given(p: Row, q: Row, token: int) -> tuple[Any, Row]:
    accepted = min(1, p[token] / q[token]) if q[token] > 0 else 0
    return accepted, one_draft.residual(p, q) if accepted < 1 else p * 0


def _matching_given(p: Row, q: Row, token: int) -> tuple[Any, Row]:
    return p[token], without(p, token)


def split_of(rule: Rule, p: Row, q: Row, drawn: Row) -> tuple[Row, Row]:
    """Return the split of a rule that takes q for the row that x was drawn from."""
    accepted, replaced = p * 0, p * 0
    for token in np.flatnonzero(drawn).tolist():
        chance, rest = rule.given(p, q, token)
        accepted[token] = drawn[token] * chance
        replaced = replaced + drawn[token] * (1 - chance) * rest
    return accepted, replaced


RULES = {
    "rejection": Rule(
        one_draft.verify,
        one_draft.acceptance,
        _rejection_given,
        lambda p, q: (np.minimum(p, q), np.maximum(p - q, 0)),
    ),
    "matching": Rule(
        verify_by_matching,
        acceptance_by_matching,
        _matching_given,
        lambda p, q: (p * q, p * (1 - q)),
    ),
}


LossyRule = Callable[
    [Chance, int, Row, Row], int
]  # a drafted token, p, q: the token that comes out


def typical_acceptance(epsilon: float = 0.09, delta: float = 0.3) -> LossyRule:
    def rule(chance: Chance, token: int, p: Row, q: Row) -> int:
        possible = p[p > 0].astype(np.float64)
        entropy = -(possible * np.log(possible)).sum()
        if p[token] > min(epsilon, delta * np.exp(-entropy)):
            return token
        return draw(chance, p)

    return rule


def thresholds(single: Any = 1, accumulated: Any = 1) -> LossyRule:
    def rule(chance: Chance, token: int, p: Row, q: Row) -> int:
        u = chance.uniform()
        if chance.below(u, p[token] / accumulated) or p[token] >= single:
            return token
        rest = p.copy()
        rest[token] = rest[token] * 0
        return draw(chance, rest)

    return rule


def distribution_of(rule: LossyRule, p: Row, q: Row) -> Row:
    """Return the distribution of the token if the draft is drawn from q."""
    distribution = enumerate_outcomes(lambda chance: rule(chance, draw(chance, q), p, q))
    return np.array([distribution.get(token, 0) for token in range(len(p))], dtype=p.dtype)


def tv_of(rule: LossyRule, p: Row, q: Row) -> Any:
    """Return the total variation of that distribution from p."""
    return abs(distribution_of(rule, p, q) - p).sum() / 2
