"""Judges of the samplers that left llama.cpp."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import Reals, is_exact, of_sum, sums_exactly, unit
from sampler_parity.harness.correct.draws import orders
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong

_BENT = 1e-6  # bends that add up to no more count as equal


def softmax(stage: Stage) -> None:
    """Require descending order and the probabilities; nothing is removed."""
    if len(stage.got.ids) != len(stage.before.ids):
        raise Wrong("survivors", got=len(stage.got.ids), expected=len(stage.before.ids))
    stage.none_selected()
    stage.most_likely_first(by_p=True)
    stage.same_logits()
    stage.probabilities()


def tail_free(stage: Stage) -> None:
    """Require the first i candidates, i the first with d_0 + ... + d_i > z and i >= min_keep.

    d_i = |(p_i - p_{i+1}) - (p_{i+1} - p_{i+2})| is divided by the sum of all (reference:
    samplers/tail_free.py, after Bricken 2019). The normalizer of p cancels. e_i is p_i times its
    own error, which is 0 at the largest logit. A difference of two p is off by e_i + e_{i+1} and
    one u, and d_i by two such differences and one u (Higham 2002, section 3.1).
    A running share is x / (x + y), x up to i and y behind it: monotone in both, so its ends are
    those of x and y. Two sums and a quotient add their own errors. Whether the sum of all d
    exceeds 1e-6 may be open, too; otherwise all d are equal.
    """
    z, n, everything = stage.hull("z"), len(stage.got.ids), len(stage.before.ids)
    if z[1] >= 1 or everything <= 2:
        stage.unchanged()
        return
    stage.none_selected()
    stage.most_likely_first(by_p=True)
    stage.same_logits()
    normalizer = stage.probabilities()
    at = n if n < everything - 2 else everything - 2 if n == everything else -1
    first = stage.sampler.min_keep
    ways = [
        (_crossing(high, z[0], first), _crossing(low, z[1], first), _crossing(share, z[0], first))
        for share, low, high in _running_shares(stage, normalizer)
    ]
    if not any(fewest <= at <= most for fewest, most, _ in ways):
        raise Wrong("survivors", got=n, least=ways[0][0], most=ways[0][1])
    if len({*ways[0]}) > 1:
        stage.cuts.append(Cut(int(np.sign(at - ways[0][2]))))


def _crossing(shares: Reals, z: float, first: int) -> int:
    """Return the first place from `first` on where a share exceeds z; their number if none does."""
    over = shares > z
    over[:first] = False
    return int(over.argmax()) if over.any() else len(shares)


def _running_shares(
    stage: Stage, normalizer: tuple[float, float]
) -> Iterator[tuple[Reals, Reals, Reals]]:
    """Yield the running shares, and their smallest and largest values, for each order and sum that
    rounding explains."""
    exact, n = stage.softmax, len(stage.before.ids) - 2
    total = 0.0, 0.0
    for order in orders(stage) if exact.defined else []:
        bend, error = _bends(stage, order)
        x, off = np.cumsum(bend), np.cumsum(error)
        total = (x[-1] - off[-1]) * normalizer[0], (x[-1] + off[-1]) * normalizer[1]
        if total[1] <= _BENT:
            continue
        share = x / x[-1]
        if not off[-1] and _exact(stage, bend) and _exact(stage, bend / x[-1]):
            yield share, share, share
            continue
        least, most = np.maximum(x - off, 0.0), x + off
        behind, off_behind = x[-1] - x, off[-1] - off
        low = least / (least + behind + off_behind)
        high = most / (most + np.maximum(behind - off_behind, 0.0))
        yield share, *_rounded(stage, low, high)
    if total[0] <= _BENT:
        even = np.full(n, 1 / n)
        share = np.cumsum(even)
        yield share, *((share, share) if _exact(stage, even) else _rounded(stage, share, share))


def _bends(stage: Stage, order: NDArray[np.int64]) -> tuple[Reals, Reals]:
    """Return d and the error of each, of the candidates in an order."""
    p, u = stage.softmax.p[order], unit(stage.arithmetic.probabilities)
    off = np.where(p == p.max(), 0.0, p * stage.softmax.errors[order])
    if sums_exactly(p, stage.arithmetic.probabilities):
        off, u = np.zeros_like(p), 0.0
    slope = p[:-1] - p[1:]
    off = off[:-1] + off[1:] + abs(slope) * u
    bend = abs(slope[:-1] - slope[1:])
    return bend, off[:-1] + off[1:] + bend * u


def _exact(stage: Stage, shares: Reals) -> bool:
    """Return whether neither these numbers nor their sums are rounded."""
    kind = stage.arithmetic.sums
    return sums_exactly(shares, kind) and all(is_exact(float(share), kind) for share in shares)


def _rounded(stage: Stage, low: Reals, high: Reals) -> tuple[Reals, Reals]:
    """Return the ends with the errors of two sums and a quotient."""
    error = 2 * of_sum(len(low), stage.arithmetic) + 2 * unit(stage.arithmetic.probabilities)
    return low * (1 - error), high * (1 + error)
