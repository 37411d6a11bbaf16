"""torch's own arithmetic on a CPU without vector instructions (ATEN_CPU_CAPABILITY=default)."""

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.floats import FloatArray

LANES = 8


def softmax(logits: FloatArray) -> FloatArray:
    """Eight sums, the rest to the first, then one after the other; times the reciprocal."""
    kind = logits.dtype.type
    weights = floats.exp(logits - logits.max())
    whole = len(weights) // LANES * LANES
    if whole == 0:
        return np.asarray(weights * (kind(1) / floats.total(weights)))
    lanes = np.add.accumulate(weights[:whole].reshape(-1, LANES), axis=0)[-1]
    lanes[: len(weights) - whole] += weights[whole:]
    return np.asarray(weights * (kind(1) / floats.total(lanes)))


def cumsum(values: FloatArray) -> FloatArray:
    """The sum is double, each step rounded."""
    return np.asarray(values.cumsum(dtype=np.float64).astype(values.dtype))
