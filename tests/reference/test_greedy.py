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


@pytest.mark.parametrize(
    ("logits", "token"),
    [
        ([2.0, 5.0, 5.0], 1),
        ([5.0], 0),
        ([-np.inf, -np.inf], 0),
        ([-np.inf, -3e38], 1),
        ([1.0, np.inf, np.inf], 1),
        ([1.0, np.nan, 3.0], 2),
        ([np.nan, 1.0, 3.0], 0),
        ([-1.0, -0.0, 0.0], 1),
        ([0.0, 1e-45], 1),
    ],
    ids=[
        "tie", "one", "all -inf", "-inf below all", "two +inf", "NaN never wins", "first NaN stays",
        "both zeros are equal", "smallest denormal",
    ],
)  # fmt: skip
def test_greedy_breaks_ties_and_meets_extremes(logits: list[float], token: int) -> None:
    assert applied("greedy", {}, logits).token == token


def test_greedy_takes_the_first_in_order_not_the_lowest_id() -> None:
    cand = Candidates.from_logits([5.0, 5.0])
    cand.keep(np.array([1, 0]))
    chain_of(("greedy", {})).apply(cand)
    assert cand.token == 1


def test_greedy_with_no_candidates_has_no_token() -> None:
    cand = applied("greedy", {}, [])
    assert cand.selected == 0
    with pytest.raises(UndefinedInputError, match=r"^a token was selected from no candidates$"):
        _ = cand.token
