"""libstdc++'s sorts, step by step: the order of equal values is part of the result.

This file repeats bits/stl_algo.h and bits/stl_heap.h of GCC 12 (unchanged since GCC 4.7).

Everything here sorts keys in descending order, comp(a, b) = a > b, and carries along the position
that each key had before. NaN is not allowed: it breaks the strict weak ordering that both
algorithms require, and libstdc++'s unguarded loops then leave the array.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.compiled import Edges, FloatArray, Order, jit, parts_of

_SMALL = 16  # std::sort leaves runs of at most this length to insertion sort

_STEP = np.uintp(1)  # unsigned: for a signed index, Numba tests in each loop if it is negative

_BLOCK = 256  # keys that are compared in one go, with vector instructions


@jit
def _sift(keys: FloatArray, at: Order, first: int, hole: int, n: int, key: Any, was: Any) -> None:
    """Move the hole down to a leaf, then push (key, was) up from there: __adjust_heap."""
    top = hole
    child = hole
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if keys[first + child] > keys[first + child - 1]:
            child -= 1
        keys[first + hole] = keys[first + child]
        at[first + hole] = at[first + child]
        hole = child
    if (n & 1) == 0 and child == (n - 2) // 2:  # the last parent has one child only
        child = 2 * (child + 1)
        keys[first + hole] = keys[first + child - 1]
        at[first + hole] = at[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and keys[first + parent] > key:
        keys[first + hole] = keys[first + parent]
        at[first + hole] = at[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    keys[first + hole] = key
    at[first + hole] = was


@jit
def _pop_heap(keys: FloatArray, at: Order, first: int, last: int, result: int) -> None:
    key, was = keys[result], at[result]
    keys[result], at[result] = keys[first], at[first]
    _sift(keys, at, first, 0, last - first, key, was)


@jit
def _make_heap(keys: FloatArray, at: Order, first: int, n: int) -> None:
    if n >= 2:
        for parent in range((n - 2) // 2, -1, -1):
            _sift(keys, at, first, parent, n, keys[first + parent], at[first + parent])


@jit
def _sort_heap(keys: FloatArray, at: Order, first: int, last: int) -> None:
    for end in range(last - 1, first, -1):
        _pop_heap(keys, at, first, end, end)


@jit
def sort_part(keys: FloatArray, at: Order, first: int, middle: int, last: int) -> None:
    """Perform std::partial_sort(first, middle, last): __heap_select, then __sort_heap."""
    _make_heap(keys, at, first, middle - first)
    for i in range(middle, last):
        if keys[i] > keys[first]:
            _pop_heap(keys, at, first, middle, i)
    _sort_heap(keys, at, first, middle)


@jit
def _swap(keys: FloatArray, at: Order, a: Any, b: Any) -> None:
    keys[a], keys[b] = keys[b], keys[a]
    at[a], at[b] = at[b], at[a]


@jit
def partition(keys: FloatArray, at: Order, first: int, last: int) -> int:
    """Partition at the median of three, moved to the front: __unguarded_partition_pivot."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if keys[a] > keys[b]:
        median = b if keys[b] > keys[c] else (c if keys[a] > keys[c] else a)
    else:
        median = a if keys[a] > keys[c] else (c if keys[b] > keys[c] else b)
    _swap(keys, at, first, median)
    pivot = keys[first]
    low, high = np.uintp(first + 1), np.uintp(last)
    while True:
        while keys[low] > pivot:
            low += _STEP
        high -= _STEP
        while pivot > keys[high]:
            high -= _STEP
        if low >= high:
            return np.intp(low)  # type: ignore[return-value]
        _swap(keys, at, low, high)
        low += _STEP


@jit
def _insert(keys: FloatArray, at: Order, start: int) -> None:
    """Insert without bound check (__unguarded_linear_insert): a key before start is not smaller."""
    position = np.uintp(start)
    key, was = keys[position], at[position]
    while key > keys[position - _STEP]:
        keys[position], at[position] = keys[position - _STEP], at[position - _STEP]
        position -= _STEP
    keys[position], at[position] = key, was


@jit
def sort(keys: FloatArray, at: Order, edges: Edges) -> None:
    """Sort between each two edges as std::sort."""
    for begin, end in parts_of(edges):
        _sort(keys, at, begin, end)


@jit
def _sort(keys: FloatArray, at: Order, begin: int, end: int) -> None:
    """Sort as std::sort: quicksort to runs of 16, heap sort if too deep, then insertion sort."""
    n = end - begin
    depth = 0
    while n > 1:
        n >>= 1
        depth += 2
    # The recursion of __introsort_loop; the order of independent parts does not matter.
    parts = [(begin, end, depth)]
    while len(parts) > 0:
        first, last, depth = parts.pop()
        while last - first > _SMALL:
            if depth == 0:
                sort_part(keys, at, first, last, last)
                break
            depth -= 1
            cut = partition(keys, at, first, last)
            parts.append((cut, last, depth))
            last = cut
    for i in range(begin + 1, min(begin + _SMALL, end)):
        if keys[i] > keys[begin]:
            key, was = keys[i], at[i]
            for j in range(i, begin, -1):
                keys[j], at[j] = keys[j - 1], at[j - 1]
            keys[begin], at[begin] = key, was
        else:
            _insert(keys, at, i)
    for i in range(begin + _SMALL, end):
        _insert(keys, at, i)


@jit
def _select(keys: FloatArray, first: int, last: int, heap: FloatArray, at: Order) -> None:
    """Run the loop of __heap_select over keys[first:last]."""
    for i in range(first, last):
        if keys[i] > heap[0]:
            _sift(heap, at, 0, 0, len(heap), keys[i], np.int32(i))


@jit
def std_partial_sort(keys: FloatArray, n: int) -> Order:
    """Return the order of the first n after `std::partial_sort(begin, begin + n, end, greater)`.

    Keys that leave the heap are never compared again, so only the heap is written. A block without
    a key above the smallest of the heap changes nothing.
    """
    at = np.arange(n, dtype=np.int32)
    if n == 0:
        return at
    heap = keys[:n].copy()
    _make_heap(heap, at, 0, n)
    start = n
    while start + _BLOCK <= len(keys):
        smallest = heap[0]
        larger = np.int32(0)
        for j in range(_BLOCK):
            larger += np.int32(keys[np.uintp(start + j)] > smallest)
        if larger > 0:
            _select(keys, start, start + _BLOCK, heap, at)
        start += _BLOCK
    _select(keys, start, len(keys), heap, at)
    _sort_heap(heap, at, 0, n)
    return at


@jit
def std_partial_sort_in_place(keys: FloatArray, at: Order, first: int, middle: int) -> None:
    """Perform `std::partial_sort(begin + first, begin + middle, end, greater)` in full."""
    sort_part(keys, at, first, middle, len(keys))
