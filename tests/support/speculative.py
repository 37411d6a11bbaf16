"""Rows and models for the tests of speculative sampling, exact."""

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sampler_parity.reference.speculative.chance import Row
from sampler_parity.reference.speculative.rounds import Model


def row(*tenths: int) -> Row:
    """Return probabilities in proportion to whole numbers."""
    return np.array([Fraction(part, sum(tenths)) for part in tenths], dtype=object)


# By hand: min(p, q) = (2, 3, 1) tenths, so 6 of 10 drafts are accepted; max(0, p - q) = (3, 0, 1)
# tenths, so a rejected draft is recovered as 0 three times in four, else as 2.
P, Q = row(5, 3, 2), row(2, 7, 1)


def rows(size: int) -> st.SearchStrategy[Row]:
    """Return any row, also with impossible tokens."""
    parts = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    return parts.map(lambda tenths: row(*tenths))


def model(*of_last: Row) -> Model:
    """Return a model whose row depends on the last token: of_last[0] at first, of_last[1 + t] after
    t.
    """
    return lambda past: of_last[0 if not past else 1 + past[-1]]


def marginal(distribution: dict[Any, Any], size: int) -> Row:
    """Return the distribution of the first token of tuples."""
    total = row(*[1] * size) * 0
    for tokens, p in distribution.items():
        total[tokens[0]] += p
    return total
