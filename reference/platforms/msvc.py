"""The sorts of Microsoft's standard library. Its heap, and so std::partial_sort, is libstdc++'s.

Source: stl/inc/algorithm of github.com/microsoft/STL.
"""

from typing import Any

from sampler_parity.reference.compiled import Edges, FloatArray, Order, jit, parts_of
from sampler_parity.reference.platforms.libcxx import insert, swap
from sampler_parity.reference.platforms.libstdcxx import sort_part, std_partial_sort

__all__ = ["sort", "sort_part", "std_partial_sort"]

_SMALL = 32  # up to this length a run is sorted by insertion
_NINTHER = 40  # above this length the pivot is the median of medians


@jit
def _median_to_middle(keys: FloatArray, at: Order, a: int, b: int, c: int) -> None:
    if keys[b] > keys[a]:
        swap(keys, at, a, b)
    if keys[c] > keys[b]:
        swap(keys, at, b, c)
        if keys[b] > keys[a]:
            swap(keys, at, a, b)


@jit
def _guess_median(keys: FloatArray, at: Order, first: int, middle: int, last: int) -> None:
    if last - first > _NINTHER:
        step = (last - first + 1) >> 3
        _median_to_middle(keys, at, first, first + step, first + 2 * step)
        _median_to_middle(keys, at, middle - step, middle, middle + step)
        _median_to_middle(keys, at, last - 2 * step, last - step, last)
        _median_to_middle(keys, at, first + step, middle, last - step)
    else:
        _median_to_middle(keys, at, first, middle, last)


@jit
def _equal(keys: FloatArray, a: int, b: int) -> bool:
    """Return whether neither is larger: NaN equals everything."""
    return not keys[a] > keys[b] and not keys[b] > keys[a]


@jit
def _partition(keys: FloatArray, at: Order, first: int, last: int) -> Any:
    """Partition into larger, equal and smaller keys; return both ends of the equal part."""
    low = first + ((last - first) >> 1)
    _guess_median(keys, at, first, low, last - 1)
    high = low + 1
    while first < low and _equal(keys, low - 1, low):
        low -= 1
    while high < last and _equal(keys, high, low):
        high += 1
    after, before = high, low
    while True:
        while after < last and not keys[after] > keys[low]:
            if _equal(keys, after, low):
                swap(keys, at, high, after)
                high += 1
            after += 1
        while first < before and not keys[low] > keys[before - 1]:
            if _equal(keys, before - 1, low):
                low -= 1
                swap(keys, at, low, before - 1)
            before -= 1
        if before == first and after == last:
            return low, high
        if before == first:
            if high != after:
                swap(keys, at, low, high)
            high += 1
            swap(keys, at, low, after)
            low += 1
            after += 1
        elif after == last:
            before -= 1
            low -= 1
            swap(keys, at, before, low)
            high -= 1
            swap(keys, at, low, high)
        else:
            before -= 1
            swap(keys, at, after, before)
            after += 1


@jit
def sort(keys: FloatArray, at: Order, edges: Edges) -> None:
    """Sort between each two edges as std::sort: 1.5 log2(n) divisions at most, then a heap sort."""
    parts = [(a, b, b - a) for a, b in parts_of(edges)]
    while len(parts) > 0:
        first, last, ideal = parts.pop()
        while last - first > _SMALL:
            if ideal <= 0:
                sort_part(keys, at, first, last, last)
                first = last
                break
            low, high = _partition(keys, at, first, last)
            ideal = (ideal >> 1) + (ideal >> 2)
            parts.append((high, last, ideal))
            last = low
        for i in range(first + 1, last):
            insert(keys, at, first, i)
