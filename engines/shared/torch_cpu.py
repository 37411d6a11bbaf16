"""torch's arithmetic on a CPU; the functions are those without vector instructions
(ATEN_CPU_CAPABILITY=default)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.platforms import libstdcxx

ARITHMETIC = Arithmetic(exp_ulps=1.0)  # exp, log and pow are Sleef's u10: 1.0 ULP

LANES = 8


def softmax(logits: FloatArray) -> FloatArray:
    """Multiply by the reciprocal of the sum: eight lanes, the rest to the first, then in order."""
    kind = logits.dtype.type
    weights = floats.exp(logits - logits.max())
    whole = len(weights) // LANES * LANES
    if whole == 0:
        return np.asarray(weights * (kind(1) / floats.total(weights)))
    lanes = np.add.accumulate(weights[:whole].reshape(-1, LANES), axis=0)[-1]
    lanes[: len(weights) - whole] += weights[whole:]
    return np.asarray(weights * (kind(1) / floats.total(lanes)))


def descending(values: FloatArray) -> NDArray[np.int64]:
    """Sort as torch.sort(descending=True): libstdc++'s std::sort, not stable beyond 16. Values with
    a NaN are sorted stably, NaN last; torch puts them first."""
    if np.isnan(values).any():
        return np.argsort(-values, kind="stable")
    return np.asarray(sorting.std_sort_of(libstdcxx, values), np.int64)


def largest(values: FloatArray, k: int) -> NDArray[np.int64]:
    """Return the places of the k largest that torch.topk finds, 0 < k <= len(values), no NaN:
    std::partial_sort if 64 k are at most all, else libstdc++'s std::nth_element."""
    if 64 * k <= len(values):
        return np.asarray(libstdcxx.std_partial_sort(values, k)[:k], np.int64)
    keys, at = values.copy(), np.arange(len(values))
    first, last, depth = 0, len(values), 2 * (len(values).bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            libstdcxx.sort_part(keys, at, first, k, last)
            return at[:k]
        depth -= 1
        cut = int(libstdcxx.partition(keys, at, first, last))
        first, last = (cut, last) if cut < k else (first, cut)
    at[first:last] = at[first:last][np.argsort(-keys[first:last], kind="stable")]
    return at[:k]


def cumsum(values: FloatArray) -> FloatArray:
    """Sum in double, each step rounded."""
    return np.asarray(values.cumsum(dtype=np.float64).astype(values.dtype))


def total(values: FloatArray) -> Any:
    """Sum as torch.sum of one row: four vectors of eight at once, in sums of sums as it grows."""
    n = len(values)
    if n < LANES:
        return _row_sum(values[:, None])[0]
    whole = n // LANES * LANES
    first = values.dtype.type(0)
    for value in values[whole:]:
        first += value
    for lane in _row_sum(values[:whole].reshape(-1, LANES)):
        first += lane
    return first


ROWS = 4  # vectors that are summed in parallel
LEVELS = 4  # levels of sums of sums


def _row_sum(vectors: FloatArray) -> FloatArray:
    """Sum [n, lanes] to [lanes], as row_sum and multi_row_sum of SumKernel.cpp."""
    size = len(vectors) // ROWS
    power = max(4, (size - 1).bit_length() // LEVELS)
    step = 1 << power
    sums = np.zeros((LEVELS, ROWS, vectors.shape[1]), vectors.dtype)
    by_row = vectors[: size * ROWS].reshape(size, ROWS, vectors.shape[1])
    at = 0
    while at + step <= size:
        sums[0] = np.add.accumulate(np.concatenate([sums[:1], by_row[at : at + step]]), axis=0)[-1]
        at += step
        for level in range(1, LEVELS):
            sums[level] += sums[level - 1]
            sums[level - 1] = 0
            if at & ((step - 1) << (level * power)):
                break
    sums[0] = np.add.accumulate(np.concatenate([sums[:1], by_row[at:]]), axis=0)[-1]
    for level in range(1, LEVELS):
        sums[0] += sums[level]
    for vector in vectors[size * ROWS :]:
        sums[0, 0] += vector
    for row in sums[0, 1:]:
        sums[0, 0] += row
    return np.asarray(sums[0, 0])
