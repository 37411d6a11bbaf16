"""logit_bias: a constant added to the logits of named tokens."""

from typing import Any

import pytest

from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.logit_bias import LogitBias
from tests.support.applied import chain_of


def test_logit_bias_leaves_the_sorted_flag() -> None:
    cand = Candidates.from_logits([3.0, 2.0])
    cand.sorted = True
    chain_of(("logit_bias", {"logit_bias": [[1, 5.0]]})).apply(cand)
    assert (cand.logits.tolist(), cand.sorted) == ([3.0, 7.0], True)


@pytest.mark.parametrize(
    ("biases", "message"),
    [
        ({"0": 1.0}, r"^logit_bias must be a list of \[token, bias\], got {'0': 1.0}$"),
        ([[0]], r"^logit_bias must hold pairs \[token, bias\], got \[0\]$"),
        ([[0.5, 1.0]], "^token must be an integer, got 0.5$"),
        ([[0, float("nan")]], "^bias must not be NaN$"),
        ([[0, "1"]], "^bias must be a number, got '1'$"),
        ([[True, 1.0]], "^token must be an integer, got True$"),
    ],
)
def test_logit_bias_refuses_what_is_no_list_of_pairs(biases: Any, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        LogitBias(biases)
