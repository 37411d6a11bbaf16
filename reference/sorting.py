"""Sorts, step by step: the resulting order of equal values is part of the result.

`std::sort` and `std::partial_sort` are not stable, but they are deterministic. `dist` walks the
candidates as they stand, so the token drawn depends on the order of ties. Each standard library has
algorithms of its own (reference/platforms); llama.cpp's bucket sort builds on them
(`llama_token_data_array_partial_sort` in src/llama-sampler.cpp).

Everything here sorts keys in descending order, comp(a, b) = a > b, and returns the position that
each key had before. NaN is not allowed: it breaks the strict weak ordering that the algorithms
require, and their unguarded loops then leave the array.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats, platforms
from sampler_parity.reference.compiled import FloatArray, Order, jit
from sampler_parity.reference.platforms import libcxx, libcxx_19, libstdcxx, msvc

_LIBRARIES: dict[str, Any] = {
    "libstdc++": libstdcxx,
    "libc++": libcxx,
    "libc++19": libcxx_19,
    "msvc": msvc,
}

N_BUCKETS = 128
BUCKET_SCALE = 6.4  # 128 buckets over the logits -10..10
BUCKET_SHIFT = 64.0
_TOO_LARGE = 2.0**31


def std_sort(keys: FloatArray) -> Order:
    """Return the order of `std::sort(keys, greater)`: result[i] is where the i-th largest key
    stood.
    """
    if platforms.current().sorting == "portable":
        return _totally(keys, None)
    return std_sort_of(_library(), keys)


def std_sort_of(library: Any, keys: FloatArray) -> Order:
    """Return that order for a library (reference/platforms), on every platform."""
    at = np.arange(len(keys), dtype=np.int32)
    library.sort(keys.copy(), at, np.array((0, len(keys))))
    return at


def std_partial_sort(keys: FloatArray, n: int, ids: Order | None = None) -> Order:
    """Return the order of the first n after `std::partial_sort(begin, begin + n, end, greater)`.

    ids: a portable sort orders equal keys by them; without them, by position. Raises ValueError for
    an n above their number.
    """
    if n > len(keys):
        raise ValueError(f"the first {n} of {len(keys)} cannot be sorted")
    if platforms.current().sorting == "portable":
        return _totally(keys, ids)[:n]
    return _library().std_partial_sort(keys, n)  # type: ignore[no-any-return]


def bucket_sort(keys: FloatArray, n: int, ids: Order | None = None) -> Order:
    """Return the order of the n largest of keys by llama.cpp's bucket sort, n <= len(keys).

    128 buckets over -10..10. Values beyond go to the outermost buckets, except that a value too
    large for int (over 2**31/6.4, +inf) becomes -2**31 on x86-64 and lands in the lowest one.
    """
    kind, platform = keys.dtype.type, platforms.current()
    if platform.sorting == "portable":
        return _totally(keys, ids)[:n]
    scale, shift, scaled = kind(BUCKET_SCALE), kind(BUCKET_SHIFT), keys
    if platform.contraction != "none":
        scale, shift, scaled = kind(1), kind(0), floats.multiply_add(scale, keys, shift)
    highest = _TOO_LARGE if platform.conversion == "lowest" else np.inf
    of_buckets, at, edges = _by_bucket(keys, scaled, scale, shift, highest, n)
    library = _library()
    library.sort(of_buckets, at, edges[:-1])
    library.sort_part(of_buckets, at, edges[-2], n, edges[-1])
    return at[:n].copy()  # type: ignore[no-any-return]


def _totally(keys: FloatArray, ids: Order | None) -> Order:
    """Sort largest first, equal keys by the lower id; NaN equals all, if all are NaN."""
    ties = np.arange(len(keys)) if ids is None else ids
    return np.lexsort((ties, -keys)).astype(np.int32)


def _library() -> Any:
    return _LIBRARIES[platforms.current().sorting]


@jit
def _by_bucket(
    keys: FloatArray, scaled: FloatArray, scale: Any, shift: Any, highest: float, n: int
) -> Any:
    """Return the keys of the highest buckets that hold n, their old places, and all bucket edges.

    A key's bucket is `int(scale * scaled + shift)`, cut to 0..127; from `highest` on int() is the
    smallest int.
    """
    bucket = np.empty(len(keys), np.int16)
    size = np.zeros(N_BUCKETS, np.int64)
    for i in range(len(keys)):
        x = scale * scaled[i] + shift
        b = 0  # also of NaN: both comparisons are false
        if x >= 0 and (x < highest or highest == np.inf):
            b = int(x) if x < N_BUCKETS else N_BUCKETS - 1
        bucket[i] = b
        size[b] += 1
    lowest = N_BUCKETS - 1
    have = size[lowest]
    while have < n and lowest > 0:
        lowest -= 1
        have += size[lowest]
    edges = np.zeros(N_BUCKETS - lowest + 1, np.int64)
    for i in range(N_BUCKETS - lowest):
        edges[i + 1] = edges[i] + size[N_BUCKETS - 1 - i]
    fill = edges.copy()
    out_keys = np.empty(have, keys.dtype)
    at = np.empty(have, np.int32)
    for i in range(len(keys)):
        rank = N_BUCKETS - 1 - bucket[i]
        if rank < N_BUCKETS - lowest:
            out_keys[fill[rank]] = keys[i]
            at[fill[rank]] = i
            fill[rank] += 1
    return out_keys, at, edges
