"""MLX's float32 on an x86-64 CPU: its own exp, sums in C's order, the logarithm of glibc.

Its vectors have one element there, so nothing is summed in parts. Elsewhere (NEON, Metal) they have
more, and last bits differ. In float64 exp is glibc's: the result with little rounding.
Source: mlx/backend/cpu/simd/math.h, logsumexp.cpp and softmax.cpp at 0.32.4.
"""

from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.floats import FloatArray

# 2**f for the fraction f, from the highest power down (Cephes).
_POWERS = np.array(
    [
        *(1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3),
        *(5.550332471162809e-2, 2.402264791363012e-1, 6.931472028550421e-1, 1.0),
    ],
    np.float32,
)
_LOG2_E = np.float32(1.442695)


def exp(x: FloatArray) -> FloatArray:
    """Return 2**(x / ln 2) as 2**integer * 2**fraction; 0 below -88 and inf above 88."""
    if x.dtype == np.float64:
        return floats.exp(x)  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        scaled = x * _LOG2_E
        whole = np.floor(scaled.astype(np.float64) + 0.5).astype(np.float32)
        fraction = (scaled - whole).astype(np.float64)
        power = np.full(x.shape, _POWERS[0])
        for coefficient in _POWERS[1:]:
            # A fused multiply-add: the product is exact in double. The sum is rounded twice, which
            # shows in one of 2**29.
            power = (power * fraction + np.float64(coefficient)).astype(np.float32)
        bounded = np.clip(np.nan_to_num(whole), -127, 128).astype(np.int32)
        result = ((bounded + 127) << 23).view(np.float32) * power
        return np.where(x > 88, np.float32(np.inf), np.where(x < -88, np.float32(0), result))


def log_probs(logits: FloatArray) -> FloatArray:
    """Return logits - logsumexp(logits)."""
    kind = logits.dtype.type
    top = logits.max()
    return np.asarray(logits - kind(floats.log(floats.total(exp(logits - top))) + top))


def softmax(logits: FloatArray) -> FloatArray:
    """Return the softmax, multiplied by the reciprocal of the sum."""
    weights = exp(logits - logits.max())
    return np.asarray(weights * (weights.dtype.type(1) / floats.total(weights)))


def mass_above(weights: FloatArray) -> FloatArray:
    """Sum for each weight those after it, added from the last on."""
    sums: Any = floats.running_sum(weights[::-1])
    return np.concatenate([[weights.dtype.type(0)], sums[:-1]])[::-1]


def mass_before(weights: FloatArray) -> FloatArray:
    """Sum for each weight those before it."""
    return np.concatenate([[weights.dtype.type(0)], floats.running_sum(weights)[:-1]])
