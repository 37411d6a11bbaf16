"""Is a difference within rounding of a cut-off or a draw?

The stage is run again in float64, on the candidates that it was given, with its threshold moved a
little down and a little up. If what the backend kept lies between the two results, float32 rounding
explains the difference; a draw, if the token's piece of the unit interval comes as close to the
uniform number.
"""

import numpy as np
from numpy.typing import NDArray

from reference import Candidates
from reference.chain import Sampler
from reference.samplers.dist import Dist

# Relative width of the zone: the error that a float32 sum over n terms may have, at most n * 2**-24
# and in practice about its square root; 1e-5 covers n = 262,144 by either account of rounding.
WIDTH = 1e-5

_THRESHOLD = {"top_p": "p", "min_p": "p", "typical_p": "p", "tail_free": "z"}


def within_rounding(
    want: Candidates,
    ids: NDArray[np.int32],
    token: int | None,
    before: Candidates,
    sampler: Sampler,
) -> bool:
    """Whether the backend's survivors (ids) or token differ from want by rounding alone.

    before and sampler are what the stage was given: the candidates, and the sampler in its state
    then (a copy; it is applied here).
    """
    if sampler.name in _THRESHOLD:
        return _cut(ids, before, sampler)
    if isinstance(sampler, Dist):
        return np.array_equal(want.ids, ids) and token is not None and _draw(want, token, sampler)
    return False


def _cut(ids: NDArray[np.int32], before: Candidates, sampler: Sampler) -> bool:
    around = apply_around(before, sampler, _THRESHOLD[sampler.name], WIDTH)
    fewest, most = sorted((set(cand.ids.tolist()) for cand in around), key=len)
    return fewest <= set(ids.tolist()) <= most


def apply_around(
    before: Candidates, sampler: Sampler, parameter: str, width: float
) -> tuple[Candidates, Candidates]:
    """What the sampler leaves in float64 with its threshold lowered, and raised, by this share."""
    threshold = float(getattr(sampler, parameter))
    results: list[Candidates] = []
    for factor in (1 - width, 1 + width):
        moved = sampler.clone()
        setattr(moved, parameter, np.float64(threshold * factor))
        exact = Candidates(
            before.ids,
            before.logits.astype(np.float64),
            before.p.astype(np.float64),
            before.sorted,
        )
        moved.apply(exact)
        results.append(exact)
    return results[0], results[1]


def _draw(want: Candidates, token: int, sampler: Dist) -> bool:
    """Whether the uniform number lies within WIDTH of the token's piece of the unit interval."""
    u = sampler.rng.uniform_double()
    edges = np.cumsum(want.p.astype(np.float64))
    at = int(np.flatnonzero(want.ids == token)[0])
    low = edges[at - 1] if at > 0 else 0.0
    return bool(low - WIDTH <= u <= edges[at] + WIDTH) and want.p[at] > 0
