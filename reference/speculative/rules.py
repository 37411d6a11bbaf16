"""The two ways along a draft, by name, with the effect of each at one position in closed form.

given: the draft token x, the chance that it is accepted, and the distribution of its replacement.
split: over all x drawn from q, the part that comes from accepted drafts and the part that comes
from replacements. Both together are p, which is why the rule is lossless.

Tests: tests/reference/test_speculative.py compares them with the enumeration of the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.reference.speculative import matching, one_draft
from sampler_parity.reference.speculative.chance import Row
from sampler_parity.reference.speculative.rounds import Verify
from sampler_parity.reference.speculative.several_drafts import without


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
        matching.verify, matching.acceptance, _matching_given, lambda p, q: (p * q, p * (1 - q))
    ),
}
