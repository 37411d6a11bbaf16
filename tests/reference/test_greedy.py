"""greedy: the first of the most likely candidates."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of


def test_greedy_selects_the_largest_logit_and_changes_nothing_else() -> None:
    cand = applied("greedy", {}, [1.0, 3.0, 2.0])
    assert cand.token == 1
    assert cand.logits.tolist() == [1.0, 3.0, 2.0]
    assert cand.p.tolist() == [0.0, 0.0, 0.0]


def test_greedy_takes_the_first_in_order_not_the_lowest_id() -> None:
    cand = Candidates.from_logits([5.0, 5.0])
    cand.keep(np.array([1, 0]))
    chain_of(("greedy", {})).apply(cand)
    assert (cand.selected, cand.token) == (0, 1)


def test_greedy_with_no_candidates_has_no_token() -> None:
    cand = applied("greedy", {}, [])
    assert cand.selected == 0
    with pytest.raises(UndefinedInputError, match=r"^a token was selected from no candidates$"):
        _ = cand.token
