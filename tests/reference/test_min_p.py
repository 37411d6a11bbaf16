"""min_p: candidates at least p times as likely as the most likely one, compared as logits."""

import numpy as np
import pytest

from sampler_parity.reference import UndefinedInputError
from tests.support.applied import applied


def test_min_p_keeps_the_boundary_and_drops_the_next_float() -> None:
    """The threshold is 5 + logf(.5f) in float32."""
    threshold = np.float32(5) + np.float32(np.log(0.5))
    below = np.nextafter(threshold, np.float32(0))
    assert applied("min_p", {"p": 0.5}, [threshold, 5.0, below]).ids.tolist() == [0, 1]


def test_min_p_drops_nan_and_refuses_to_sort_it() -> None:
    assert applied("min_p", {"p": 0.5}, [np.nan, 1.0, 1.0]).ids.tolist() == [1, 2]
    with pytest.raises(UndefinedInputError, match=r"^logit of token 0 is NaN: sorting it"):
        applied("min_p", {"p": 0.5, "min_keep": 3}, [np.nan, 1.0, 1.0])
