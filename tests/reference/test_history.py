"""The window of tokens that penalties counts."""

from collections import Counter, deque

import numpy as np
import pytest

from sampler_parity.reference.sampler import History


@pytest.mark.parametrize("size", [0, 1, 3, 64, 2**31 - 1])
def test_the_window_holds_what_a_bounded_queue_would_hold(size: int) -> None:
    tokens = np.random.default_rng(1).integers(-2, 9, 500).tolist()
    history, queue = History(size), deque[int](maxlen=size)
    for token in tokens:
        history.append(token)
        queue.append(token)
        assert list(history) == list(queue)
        assert len(history) == len(queue)
        distinct, counts = history.counts()
        assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == Counter(queue)


def test_the_tokens_counted_ascend_and_one_that_left_is_not_counted() -> None:
    history = History(4)
    for token in (7, 5, 5, -1, 2**31 - 1):  # 7 leaves
        history.append(token)
    distinct, counts = history.counts()
    assert distinct.tolist() == [-1, 5, 2**31 - 1]
    assert counts.tolist() == [1, 2, 1]


def test_a_copy_goes_its_own_way() -> None:
    history = History(2)
    history.append(1)
    twin = history.copy()
    twin.append(2)
    history.clear()
    assert (list(history), list(twin)) == ([], [1, 2])
