"""penalties: make the tokens of the recent history less likely."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.penalties import Penalties
from tests.support.applied import applied, chain_of


def _penalized(
    logits: Sequence[float], history: Sequence[int], last_n: int = 64, **parameters: Any
) -> list[float]:
    settings = {"penalty_last_n": last_n, **parameters}
    result: list[float] = applied("penalties", settings, logits, history=history).logits.tolist()
    return result


def test_penalties_subtract_frequency_per_count_and_presence_once() -> None:
    """Bug zoo 40: 3 times: 3 * .5 + .25 = 1.75. The repetition factor comes first: 8 / 2 = 4."""
    settings: dict[str, Any] = {"penalty_repeat": 2.0, "penalty_freq": 0.5, "penalty_present": 0.25}
    assert _penalized([8.0, 8.0], [0, 0, 0], **settings) == [4 - 1.75, 8.0]


def test_penalties_find_tokens_by_id_not_by_position() -> None:
    cand = Candidates.from_logits([1.0, 2.0, 3.0])
    cand.keep(np.array([2, 0]))
    chain = chain_of(("penalties", {"penalty_last_n": 8, "penalty_present": 1.0}))
    chain.accept(2)
    chain.apply(cand)
    assert cand.logits.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("value", [0, 0.0, -1.0, 1e-50])
def test_penalties_refuse_a_factor_that_is_not_positive(value: float) -> None:
    """1e-50 is 0 in float32."""
    with pytest.raises(ChainError, match=r"^penalty_repeat must be greater than 0, got "):
        Penalties(64, penalty_repeat=value)
