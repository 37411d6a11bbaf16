"""softmax and tail_free, which llama.cpp had until b3889."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


def test_softmax_sorts_and_normalizes() -> None:
    """exp of 0, log 2, log 5: 1, 2, 5 of 8."""
    cand = applied("softmax", {}, [0.0, np.log(5), np.log(2)])
    assert cand.ids.tolist() == [1, 2, 0]
    assert cand.p == pytest.approx([5 / 8, 2 / 8, 1 / 8], abs=1e-6)
    assert cand.sorted


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


@pytest.mark.parametrize("name", ["softmax", "tail_free"])
def test_removed_samplers_refuse_nan(name: str) -> None:
    parameters = {"z": 0.5} if name == "tail_free" else {}
    with pytest.raises(UndefinedInputError, match=r"^logit of token 1 is NaN"):
        applied(name, parameters, [0.0, np.nan, 1.0])


def test_softmax_refuses_no_candidates() -> None:
    with pytest.raises(UndefinedInputError, match=r"^softmax of no candidates"):
        applied("softmax", {}, [])


# p = .5 .25 .125 .0625 .0625: slopes .25 .125 .0625 0; bends .125 .0625 .0625, sum .25;
# normalized .5 .25 .25: running sums .5 .75 1
BENT = (0.5, 0.25, 0.125, 0.0625, 0.0625)


@pytest.mark.parametrize(
    ("z", "n"),
    [(0.49, 0), (0.51, 1), (0.74, 1), (0.76, 2), (0.99, 2)],
)
def test_tail_free_keeps_as_many_as_the_index_of_the_crossing(z: float, n: int) -> None:
    """One fewer than published: the crossing itself goes too. Bug zoo 15."""
    cand = applied("tail_free", {"z": z}, logs(*BENT))
    assert cand.ids.tolist() == list(range(n))


@pytest.mark.parametrize(("z", "n"), [(0.4999, 1), (0.5, 2), (0.75, 3)])
def test_tail_free_must_exceed_z(z: float, n: int) -> None:
    """Six equals bend nowhere: four shares of 1/4, sums .25 .5 .75 1, exact in float32. .5 is
    above .4999 at index 1, .75 above .5 at index 2."""
    assert len(applied("tail_free", {"z": z}, [1.0] * 6)) == n


@pytest.mark.parametrize(("min_keep", "n"), [(0, 0), (1, 1), (2, 2), (3, 5), (9, 5)])
def test_tail_free_looks_for_the_crossing_from_min_keep_on(min_keep: int, n: int) -> None:
    """z = 0 is crossed at index 0; there are three bends, so none is found from index 3 on."""
    assert len(applied("tail_free", {"z": 0.0, "min_keep": min_keep}, logs(*BENT))) == n


@pytest.mark.parametrize("z", [1.0, 1.5])
def test_tail_free_of_one_or_more_does_nothing(z: float) -> None:
    cand = applied("tail_free", {"z": z}, [0.0, 1.0, 2.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert not cand.sorted


@pytest.mark.parametrize("logits", [[], [1.0], [1.0, 2.0]], ids=["none", "one", "two"])
def test_tail_free_leaves_up_to_two_candidates(logits: list[float]) -> None:
    cand = applied("tail_free", {"z": 0.1}, logits)
    assert cand.logits.tolist() == logits
    assert not cand.sorted


def test_tail_free_keeps_all_where_all_are_banned() -> None:
    """The sum of NaN bends is not above 1e-6: equal shares, of one here: 1 > .9 at index 0."""
    assert len(applied("tail_free", {"z": 0.9}, [-np.inf] * 3)) == 0
    # five shares of .2: .2 .4 .6 .8 1
    assert len(applied("tail_free", {"z": 0.5}, [-np.inf] * 7)) == 2
