"""top_k: exactly min(k, n) candidates, in descending order."""

import numpy as np
import pytest

from sampler_parity.reference import Candidates, UndefinedInputError
from tests.support.applied import applied, chain_of, logs


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, [1.0]), (3, [0.44444, 0.33333, 0.22222]), (4, [0.4, 0.3, 0.2, 0.1])],
)
def test_top_k_leaves_the_published_probabilities(k: int, expected: list[float]) -> None:
    """llama.cpp's test_top_k over p = .1 .2 .3 .4, normalized by dist."""
    chain = chain_of(("top_k", {"k": k}), ("dist", {"seed": 0}))
    cand = Candidates.from_logits(logs(0.1, 0.2, 0.3, 0.4))
    chain.apply(cand)
    assert cand.p == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("k", [0, -1, -(2**31)])
def test_top_k_of_zero_or_less_neither_removes_nor_sorts(k: int) -> None:
    cand = applied("top_k", {"k": k}, [2.0, 1.0, 3.0])
    assert cand.ids.tolist() == [0, 1, 2]
    assert not cand.sorted


@pytest.mark.parametrize(
    ("k", "ids"), [(1, [2]), (2, [2, 0]), (3, [2, 0, 1]), (4, [2, 0, 1]), (2**31 - 1, [2, 0, 1])]
)
def test_top_k_keeps_the_k_largest_in_order(k: int, ids: list[int]) -> None:
    cand = applied("top_k", {"k": k}, [2.0, 1.0, 3.0])
    assert cand.ids.tolist() == ids
    assert cand.sorted
    assert cand.p.tolist() == [0.0] * len(ids)


def test_top_k_keeps_exactly_k_of_equals() -> None:
    """Not everything equal to the k-th value. Bug zoo 12."""
    cand = applied("top_k", {"k": 3}, [1.0, 2.0, 2.0, 2.0, 3.0])
    assert len(cand) == 3
    assert cand.logits.tolist() == [3.0, 2.0, 2.0]


def test_top_k_takes_ties_in_the_order_of_a_heap() -> None:
    """partial_sort of 2 in [1, 2, 2, 3]: the heap {1, 2} has its smallest, 1, on top; the third
    (2 > 1) replaces it: {2, 2'}, with the first 2 or the second on top; then 3 replaces the top.

    make_heap puts the smaller 1 (id 0) first. 2 (id 2) replaces it and sinks to the hole: its
    only child is id 1; a hole at a leaf takes the value without comparison, then it is pushed up
    while the parent is larger: 2 > 2 is false, so id 1 is on top and id 2 below. 3 replaces id 1.
    """
    assert applied("top_k", {"k": 2}, [1.0, 2.0, 2.0, 3.0]).ids.tolist() == [3, 2]


def test_top_k_only_cuts_what_is_sorted_already() -> None:
    cand = Candidates.from_logits([1.0, 3.0, 2.0])
    cand.sorted = True
    chain_of(("top_k", {"k": 2})).apply(cand)
    assert cand.ids.tolist() == [0, 1]


def test_top_k_puts_minus_infinity_last() -> None:
    cand = applied("top_k", {"k": 4}, [-np.inf, -3e38, -np.inf, 0.0])
    assert cand.ids[:2].tolist() == [3, 1]
    assert set(cand.ids[2:].tolist()) == {0, 2}


@pytest.mark.parametrize(("k", "position"), [(128, 0), (129, 128)])
def test_top_k_above_128_puts_plus_infinity_last(k: int, position: int) -> None:
    """int(+inf) is -2**31 on x86-64, the lowest bucket: rank 0 of 200 becomes the last rank."""
    logits = np.linspace(9, -9, 200, dtype=np.float32)
    logits[100] = np.inf
    cand = applied("top_k", {"k": k}, logits)
    assert len(cand) == k
    if k <= 128:
        assert cand.ids[position] == 100
    else:
        assert 100 not in cand.ids  # 199 finite logits stand before it


def test_top_k_of_none_is_none_and_sorted() -> None:
    cand = applied("top_k", {"k": 5}, [])
    assert len(cand) == 0
    assert cand.sorted


def test_top_k_refuses_nan_where_it_must_sort() -> None:
    message = "^logit of token 1 is NaN: sorting it is undefined in llama.cpp$"
    with pytest.raises(UndefinedInputError, match=message):
        applied("top_k", {"k": 1}, [0.0, np.nan])
    assert len(applied("top_k", {"k": 0}, [0.0, np.nan])) == 2
    assert len(applied("top_k", {"k": 1}, [np.nan])) == 1


@pytest.mark.parametrize("k", [1, 100, 9999, 10_000])
def test_top_k_keeps_the_queue_of_llama_cpps_tests(k: int) -> None:
    """logit = log(id), n = 10,000: the ids from 9,999 down."""
    with np.errstate(divide="ignore"):
        logits = np.log(np.arange(10_000, dtype=np.float32))
    assert applied("top_k", {"k": k}, logits).ids.tolist() == list(range(9999, 9999 - k, -1))
