"""softmax and tail_free, which llama.cpp had until b3889."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates
from tests.support.applied import applied, chain_of


def test_softmax_sorts_up_to_sixteen_equals_by_insertion() -> None:
    """std::sort, not the heap of today's partial_sort: equals stay as they stand."""
    assert applied("softmax", {}, [1.0] * 16).ids.tolist() == list(range(16))
    assert applied("top_k", {"k": 16}, [1.0] * 16).ids.tolist() != list(range(16))


def test_softmax_takes_the_first_logit_of_sorted_candidates_as_the_largest() -> None:
    cand = Candidates.from_logits([0.0, np.log(3)])
    cand.sorted = True
    chain_of(("softmax", {})).apply(cand)
    assert cand.ids.tolist() == [0, 1]
    assert cand.p == pytest.approx([0.25, 0.75], abs=1e-6)


def test_softmax_meets_extremes() -> None:
    assert applied("softmax", {}, [5.0]).p.tolist() == [1.0]
    assert applied("softmax", {}, [-np.inf, 0.0]).p.tolist() == [1.0, 0.0]
    assert np.isnan(applied("softmax", {}, [-np.inf] * 2).p).all()
    assert applied("softmax", {}, [3e38, -3e38]).p.tolist() == [1.0, 0.0]


def test_tail_free_keeps_all_where_all_are_banned() -> None:
    """The sum of NaN bends is not above 1e-6: equal shares, of one here: 1 > .9 at index 0."""
    assert len(applied("tail_free", {"z": 0.9}, [-np.inf] * 3)) == 0
    # five shares of .2: .2 .4 .6 .8 1
    assert len(applied("tail_free", {"z": 0.5}, [-np.inf] * 7)) == 2
