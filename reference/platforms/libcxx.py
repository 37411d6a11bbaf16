"""The sorts of libc++ 14 to 16, step by step, as libstdcxx.py has those of libstdc++.

Source: __algorithm/sort.h, partial_sort.h and sift_down.h of libc++ 14; 16 leaves the same order,
though its pop_heap goes another way there. llama.cpp's elements are trivially copied, so runs of
30 are sorted by insertion. The heap is shared with libc++ 19.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.compiled import Edges, FloatArray, Order, jit, parts_of

_SMALL = 30  # up to this length a run is sorted by insertion
_LONG = 1000  # from this length on the pivot is the median of five, not of three
_GIVES_UP = 8  # elements that the trial of an insertion sort moves at most


@jit
def swap(keys: FloatArray, at: Order, a: Any, b: Any) -> None:
    keys[a], keys[b] = keys[b], keys[a]
    at[a], at[b] = at[b], at[a]


@jit
def sift_down(keys: FloatArray, at: Order, first: int, n: int, start: int) -> None:
    """Move a key below larger children (__sift_down); of equal children the left is taken."""
    key, was = keys[first + start], at[first + start]
    hole = start
    while 2 * hole + 1 < n:
        child = 2 * hole + 1
        if child + 1 < n and keys[first + child] > keys[first + child + 1]:
            child += 1
        if keys[first + child] > key:
            break
        keys[first + hole], at[first + hole] = keys[first + child], at[first + child]
        hole = child
    keys[first + hole], at[first + hole] = key, was


@jit
def sort_part(keys: FloatArray, at: Order, first: int, middle: int, last: int) -> None:
    """Perform std::partial_sort(first, middle, last)."""
    n = middle - first
    for start in range((n - 2) // 2, -1, -1):
        sift_down(keys, at, first, n, start)
    if n == 0:
        return
    for i in range(middle, last):
        if keys[i] > keys[first]:
            swap(keys, at, i, first)
            sift_down(keys, at, first, n, 0)
    for end in range(n - 1, 0, -1):
        swap(keys, at, first, first + end)
        sift_down(keys, at, first, end, 0)


@jit
def sort_three(keys: FloatArray, at: Order, x: int, y: int, z: int) -> int:
    """Sort three keys as the stable __sort3; return how many swaps."""
    if not keys[y] > keys[x]:
        if not keys[z] > keys[y]:
            return 0
        swap(keys, at, y, z)
        if keys[y] > keys[x]:
            swap(keys, at, x, y)
            return 2
        return 1
    if keys[z] > keys[y]:
        swap(keys, at, x, z)
        return 1
    swap(keys, at, x, y)
    if keys[z] > keys[y]:
        swap(keys, at, y, z)
        return 2
    return 1


@jit
def sort_few(keys: FloatArray, at: Order, places: Any) -> int:
    """Sort the keys at these places as __sort2 to __sort5; return how many swaps."""
    if len(places) == 2:
        if keys[places[1]] > keys[places[0]]:
            swap(keys, at, places[0], places[1])
            return 1
        return 0
    swaps: int = sort_three(keys, at, places[0], places[1], places[2])
    for i in range(3, len(places)):
        j = i
        while j > 0 and keys[places[j]] > keys[places[j - 1]]:
            swap(keys, at, places[j - 1], places[j])
            swaps += 1
            j -= 1
    return swaps


@jit
def insert(keys: FloatArray, at: Order, first: int, i: int) -> None:
    """Move keys[i] to its place among the sorted keys[first:i], behind equal ones."""
    key, was = keys[i], at[i]
    while i > first and key > keys[i - 1]:
        keys[i], at[i] = keys[i - 1], at[i - 1]
        i -= 1
    keys[i], at[i] = key, was


@jit
def sorted_by_few_moves(keys: FloatArray, at: Order, first: int, last: int) -> bool:
    """Sort by insertion up to the eighth moved key; return whether all is sorted. This is
    __insertion_sort_incomplete."""
    if last - first <= 1:
        return True
    if last - first <= 5:
        sort_few(keys, at, np.arange(first, last))
        return True
    sort_three(keys, at, first, first + 1, first + 2)
    moved = 0
    for i in range(first + 3, last):
        if keys[i] > keys[i - 1]:
            insert(keys, at, first, i)
            moved += 1
            if moved == _GIVES_UP:
                return i + 1 == last
    return True


@jit
def depth_of(n: int) -> int:
    """Return how deep a quicksort may go before a heap sort takes over: 2 log2(n)."""
    depth = 0
    while n > 1:
        n >>= 1
        depth += 2
    return depth


@jit
def _partition_first(keys: FloatArray, at: Order, first: int, last: int) -> int:
    """Move keys equal to the first, a largest key, to the front; return where the rest begins.
    Returns last if nothing is left to sort."""
    i, j = first + 1, last - 1
    if not keys[first] > keys[j]:
        while True:
            if i == j:
                return last
            if keys[first] > keys[i]:
                swap(keys, at, i, j)
                i += 1
                break
            i += 1
    if i == j:
        return last
    while True:
        while not keys[first] > keys[i]:
            i += 1
        j -= 1
        while keys[first] > keys[j]:
            j -= 1
        if i >= j:
            return i
        swap(keys, at, i, j)
        i += 1


@jit
def _partition(keys: FloatArray, at: Order, first: int, last: int, m: int, j: int) -> Any:
    """Move keys larger than keys[m] to the front, from first + 1 and below j. Returns the place of
    the pivot, and how many swaps."""
    i, swaps = first + 1, 0
    if i < j:
        while True:
            while keys[i] > keys[m]:
                i += 1
            j -= 1
            while not keys[j] > keys[m]:
                j -= 1
            if i > j:
                break
            swap(keys, at, i, j)
            swaps += 1
            if m == i:  # the swap moved the pivot
                m = j
            i += 1
    if i != m and keys[m] > keys[i]:
        swap(keys, at, i, m)
        swaps += 1
    return i, swaps


@jit
def _median(keys: FloatArray, at: Order, first: int, last: int) -> int:
    """Put the median of three, or of five, into the middle; return how many swaps."""
    half = (last - first) // 2
    if last - first < _LONG:
        return sort_three(keys, at, first, first + half, last - 1)  # type: ignore[no-any-return]
    quarter = half // 2
    five = np.array([first, first + quarter, first + half, first + half + quarter, last - 1])
    return sort_few(keys, at, five)  # type: ignore[no-any-return]


@jit
def _guard(keys: FloatArray, first: int, m: int, last: int) -> int:
    """Return the last place before the end with a larger key than m's, first if there is none."""
    j = last - 2
    while j > first and not keys[j] > keys[m]:
        j -= 1
    return j


@jit
def sort(keys: FloatArray, at: Order, edges: Edges) -> None:
    """Sort between each two edges as std::sort: __introsort, parts in any order."""
    parts = [(a, b, depth_of(b - a)) for a, b in parts_of(edges)]
    while len(parts) > 0:
        first, last, depth = parts.pop()
        while last - first > _SMALL:
            if depth == 0:
                sort_part(keys, at, first, last, last)
                first = last
                break
            depth -= 1
            m = first + (last - first) // 2
            swaps = _median(keys, at, first, last)
            j = last - 1
            if not keys[first] > keys[m]:
                j = _guard(keys, first, m, last)
                if j == first:
                    first = _partition_first(keys, at, first, last)
                    continue
                swap(keys, at, first, j)
                swaps += 1
            i, more = _partition(keys, at, first, last, m, j)
            if swaps + more == 0:
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
            parts.append((i + 1, last, depth))
            last = i
        if last - first >= 2:
            if last - first <= 5:
                sort_few(keys, at, np.arange(first, last))
            else:
                sort_three(keys, at, first, first + 1, first + 2)
                for i in range(first + 3, last):
                    insert(keys, at, first, i)


@jit
def std_partial_sort(keys: FloatArray, n: int) -> Order:
    """Return the order of the first n after `std::partial_sort(begin, begin + n, end, greater)`."""
    at = np.arange(len(keys), dtype=np.int32)
    sort_part(keys.copy(), at, 0, n, len(keys))
    return at[:n].copy()
