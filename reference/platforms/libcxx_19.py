"""The sorts of libc++ 17 to 19: another quicksort than that of 14 to 16, and the same heap.

Source: __algorithm/sort.h of libc++ 19, without the branch for numbers under std::less: llama.cpp
compares with functions of its own.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.compiled import Edges, FloatArray, Order, jit, parts_of
from sampler_parity.reference.platforms.libcxx import (
    depth_of,
    insert,
    sort_few,
    sort_part,
    sort_three,
    sorted_by_few_moves,
    std_partial_sort,
    swap,
)

__all__ = ["sort", "sort_part", "std_partial_sort"]

_SMALL = 24  # below this length a run is sorted by insertion
_NINTHER = 128  # above this length the pivot is the median of medians


@jit
def _pivot_to_front(keys: FloatArray, at: Order, first: int, last: int) -> None:
    """Move the median of three, or of nine by threes, to the front."""
    half = first + (last - first) // 2
    if last - first <= _NINTHER:
        sort_three(keys, at, half, first, last - 1)
        return
    sort_three(keys, at, first, half, last - 1)
    sort_three(keys, at, first + 1, half - 1, last - 2)
    sort_three(keys, at, first + 2, half + 1, last - 3)
    sort_three(keys, at, half - 1, half, half + 1)
    swap(keys, at, first, half)


@jit
def _pivot_between(keys: FloatArray, at: Order, begin: int, position: int) -> None:
    """Swap the pivot from the front with the key at its place."""
    if begin != position:
        swap(keys, at, begin, position)


@jit
def _equals_right(keys: FloatArray, at: Order, begin: int, end: int) -> Any:
    """Partition (__partition_with_equals_on_right); return pivot's place and if nothing moved."""
    pivot, first, last = keys[begin], begin + 1, end
    while keys[first] > pivot:
        first += 1
    last -= 1
    if begin == first - 1:
        while first < last and not keys[last] > pivot:
            last -= 1
    else:
        while not keys[last] > pivot:
            last -= 1
    untouched = first >= last
    while first < last:
        swap(keys, at, first, last)
        first += 1
        while keys[first] > pivot:
            first += 1
        last -= 1
        while not keys[last] > pivot:
            last -= 1
    _pivot_between(keys, at, begin, first - 1)
    return first - 1, untouched


@jit
def _equals_left(keys: FloatArray, at: Order, begin: int, end: int) -> int:
    """Partition (__partition_with_equals_on_left); return where keys below the pivot begin."""
    pivot, first, last = keys[begin], begin + 1, end
    if pivot > keys[end - 1]:
        while not pivot > keys[first]:
            first += 1
    else:
        while first < last and not pivot > keys[first]:
            first += 1
    if first < last:
        last -= 1
        while pivot > keys[last]:
            last -= 1
    while first < last:
        swap(keys, at, first, last)
        first += 1
        while not pivot > keys[first]:
            first += 1
        last -= 1
        while pivot > keys[last]:
            last -= 1
    _pivot_between(keys, at, begin, first - 1)
    return first


@jit
def sort(keys: FloatArray, at: Order, edges: Edges) -> None:
    """Sort between each two edges as std::sort: __introsort.

    Parts come from left to right: a part knows whether a sorted one lies before it.
    """
    parts = [(a, b, depth_of(b - a), True) for a, b in parts_of(edges)]
    while len(parts) > 0:
        first, last, depth, leftmost = parts.pop()
        while last - first >= _SMALL:
            if depth == 0:
                sort_part(keys, at, first, last, last)
                first = last
                break
            depth -= 1
            _pivot_to_front(keys, at, first, last)
            if not leftmost and not keys[first - 1] > keys[first]:
                first = _equals_left(keys, at, first, last)
                continue
            i, untouched = _equals_right(keys, at, first, last)
            if untouched:
                left = sorted_by_few_moves(keys, at, first, i)
                right = sorted_by_few_moves(keys, at, i + 1, last)
                if left and right:
                    first = last
                    break
                if right:
                    last = i
                    continue
                if left:
                    first = i + 1
                    continue
            parts.append((i + 1, last, depth, False))
            last = i
        if 2 <= last - first <= 5:
            sort_few(keys, at, np.arange(first, last))
        for i in range(first + 1, last):
            insert(keys, at, first, i)
