"""The filters of tsampler on a set of candidates, and the draw from the survivors.

A set is a reference Candidates: ids, logits float32, p float32. Arithmetic is JavaScript's: double
throughout, rounded to float32 where a value is stored, sums in sequence, Math.exp and Math.log as
V8 computes them. Filters change the set in place and leave p as it was before the cut: the draw
normalizes. None of them adds a candidate.

Readings, where the documentation leaves them open:
- NaN enters a set as -inf. A set in which every logit is -inf has p = 0 throughout, and drawing
  from it is an error. The largest logit has exp = 1 even if it is +inf.
- exp is not rounded to float32 before it is divided by the sum; p is.
- top-p and typical-p normalize over the given set, as llama.cpp does; min-p compares the p that the
  set has.
- Order is by logit, descending; equal logits keep their order in the set (in the full vocabulary:
  by id). typical-p orders by distance, rounded to float32, ascending, in the same way.
- top-k with k <= 0 takes all; typical-p needs mass > p and top-p mass >= p, as llama.cpp.
- top-n-sigma takes mean and population deviation of the logits that are not -inf. A deviation that
  is 0 (or NaN, next to +inf) leaves the first largest.
- The draw takes the first candidate with running mass > u * total, so that u = 0 cannot select a
  candidate with p = 0; if rounding leaves none, the last one with p > 0.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import v8_math
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates


def candidates_from_logits(logits: NDArray[np.float32]) -> Candidates:
    """Make a set of the whole vocabulary, by id, with p: candidateSetFromFullLogits."""
    values = np.where(np.isnan(logits), np.float32(-np.inf), logits)
    cand = Candidates.from_logits(values)
    softmax(cand)
    return cand


@np.errstate(all="ignore")
def softmax(cand: Candidates) -> None:
    """Compute p = float32(exp(logit - max) / sum), the division and the sum in double."""
    if len(cand) == 0 or cand.logits.max() == -np.inf:
        cand.p = np.zeros_like(cand.logits)
        return
    x = cand.logits.astype(np.float64)
    top = x.max()
    e = np.where(x == top, 1.0, v8_math.exp(x - top))
    cand.p = (e / floats.total(e)).astype(np.float32)


def _descending(logits: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.argsort(-logits, kind="stable")


def top_k(cand: Candidates, k: int) -> None:
    """Keep the k largest, in descending order; 0 < k < n, else all in their present order.

    p is that of the remaining set.
    """
    if 0 < k < len(cand):
        cand.keep(_descending(cand.logits)[:k])
    softmax(cand)


@np.errstate(all="ignore")
def typical_p(cand: Candidates, p: float, min_keep: int = 1) -> None:
    """Keep those whose surprise is closest to the entropy until their mass exceeds p. p >= 1:
    all."""
    if p >= 1 or len(cand) == 0:
        return
    softmax(cand)
    mass = cand.p.astype(np.float64)
    log_p = v8_math.log(mass)
    likely = mass > 0
    entropy = 0.0 - floats.total((mass * log_p)[likely])
    distance = abs(-log_p - entropy).astype(np.float32)
    order = np.argsort(distance, kind="stable")
    enough = floats.running_sum(mass[order]) > p
    enough[: max(0, min_keep - 1)] = False
    cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)


def top_p(cand: Candidates, p: float) -> None:
    """Keep the smallest set of likeliest tokens with mass >= p, descending. p >= 1: as is.

    p <= 0 leaves the most likely one, wherever it stands.
    """
    if p >= 1 or len(cand) == 0:
        return
    softmax(cand)
    order = _descending(cand.logits)
    enough = floats.running_sum(cand.p[order].astype(np.float64)) >= p
    cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)


def min_p(cand: Candidates, p: float) -> None:
    """Keep those with probability >= p times the largest, and the first largest. p <= 0: as is."""
    if p <= 0 or len(cand) == 0:
        return
    mass = cand.p.astype(np.float64)
    passing = mass >= mass.max() * p
    passing[int(mass.argmax())] = True
    cand.keep(np.flatnonzero(passing))


@np.errstate(all="ignore")
def top_n_sigma(cand: Candidates, n: float) -> None:
    """Keep those within n standard deviations of the largest logit. n <= 0: as is."""
    valid = cand.logits[cand.logits != -np.inf].astype(np.float64)
    if n <= 0 or len(valid) == 0:
        return
    mean = floats.total(valid) / len(valid)
    deviation = np.sqrt(floats.total((valid - mean) * (valid - mean)) / len(valid))
    top = float(cand.logits.max())
    if deviation > 0:
        cand.keep(np.flatnonzero(cand.logits.astype(np.float64) >= top - n * deviation))
    else:
        first = int(cand.logits.argmax())
        cand.keep(slice(first, first + 1))


@np.errstate(all="ignore")
def temperature(cand: Candidates, temp: float) -> None:
    """Divide by temp, then compute p anew. 1: as is. Raises ValueError unless temp > 0."""
    if not temp > 0:
        raise ValueError(f"temperature must be greater than 0, got {temp}")
    if temp != 1:
        cand.logits = (cand.logits.astype(np.float64) / temp).astype(np.float32)
        softmax(cand)


def sample_from_set(cand: Candidates, u: float) -> int:
    """Select by the uniform number u in [0, 1); returns the position, and sets it.

    Raises ValueError for a set without mass.
    """
    running = floats.running_sum(cand.p.astype(np.float64))
    if len(cand) == 0 or running[-1] == 0:
        raise ValueError("no candidate has a probability")
    above = running > u * running[-1]
    last = int(np.flatnonzero(cand.p > 0)[-1])
    cand.selected = int(above.argmax()) if above.any() else last
    return cand.selected
