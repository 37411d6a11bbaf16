"""The filters of MLX LM's make_sampler, on log-probabilities: removed tokens get -inf.

    top_p:  a token stays if the likelier ones have less than top_p of the mass; all that equal the
            last one stay. The mass is summed from the largest down.
    min_p:  tokens below max + log(min_p) go; min_tokens_to_keep of the largest stay, of equal ones
            those with the highest ids.
    xtc:    tokens likelier than the least likely of those above the threshold go; all that equal
            it stay. Special tokens never go.
    top_k:  the k largest stay, of equal ones those with the lowest ids.
Source: apply_top_p, apply_min_p, apply_xtc, apply_top_k, mlx_lm/sample_utils.py at 0.32.2.
"""

import math

import numpy as np

from sampler_parity.engines.mlx_lm.model.arithmetic import exp, mass_above, softmax
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.floats import FloatArray


def top_p(logits: FloatArray, p: float) -> FloatArray:
    ascending = np.sort(logits)
    weights = exp(ascending)
    above = mass_above(weights)
    dropped = int((above >= logits.dtype.type(p) * (above[0] + weights[0])).sum())
    if dropped == len(logits):
        raise UndefinedInputError(
            f"top_p {p} of the mass is 0 in float32: MLX reads beyond the row"
        )
    return np.asarray(np.where(logits < ascending[dropped], -np.inf, logits).astype(logits.dtype))


def min_p(logits: FloatArray, p: float, min_tokens_to_keep: int) -> FloatArray:
    gone = logits < logits.max() + logits.dtype.type(math.log(p))
    if min_tokens_to_keep > 1:
        gone[np.argsort(logits, kind="stable")[-min_tokens_to_keep:]] = False
    return np.asarray(np.where(gone, -np.inf, logits).astype(logits.dtype))


def xtc(logits: FloatArray, threshold: float, special: list[int]) -> FloatArray:
    """Return the logits after XTC has acted."""
    p = softmax(logits)
    top = p[p > p.dtype.type(threshold)]
    gone = p > (top.min() if len(top) else np.inf)
    gone[special] = False
    return np.asarray(np.where(gone, -np.inf, logits).astype(logits.dtype))


def top_k(logits: FloatArray, k: int) -> FloatArray:
    result = logits.copy()
    result[np.argsort(-logits, kind="stable")[k:]] = -np.inf
    return result
