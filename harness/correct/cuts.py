"""Decide which cuts are correct: a running sum of probabilities reaches a threshold."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import (
    Reals,
    is_exact,
    of_report,
    of_sum,
    sums_exactly,
    unit,
)
from sampler_parity.harness.correct.exact import Decision, beside
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong


def cut_by_mass(
    stage: Stage,
    threshold: tuple[float, float],
    at_least: int,
    normalizer: tuple[float, float],
    strict: bool = False,
) -> None:
    """Require the survivors to be the first i + 1 candidates, i the first with enough mass.

    Enough: p_0 + ... + p_i >= threshold (strict: >), and i + 1 >= at_least. The mass is that of the
    probabilities that the backend itself reports, so errors of p count once. Its sum may be off by
    `of_sum`, in whatever order the backend adds. If it adds from the other end and compares with
    1 - threshold, so may that of the removed ones, and the sum of all p is not 1. If all these sums
    are exact in the format, and 1 - threshold is, one cut is right. Raises Wrong.
    """
    p = stage.got.p.astype(np.float64)
    n, everything = len(p), len(stage.before.ids)
    if not stage.softmax.defined or n == 0:
        if n != len(stage.want):
            raise Wrong("survivors", got=n, expected=len(stage.want))
        return
    mass = np.cumsum(p)
    low, high = threshold
    sums, exact = stage.arithmetic.sums, exact_sums(stage, p)
    error = 0.0
    away = max(0 if is_exact(1 - t, sums) else abs(1 - t) * unit(sums) for t in threshold)
    if not exact:
        error = of_sum(n, stage.arithmetic) + of_report(stage.arithmetic.probabilities)
        away += of_sum(everything - n, stage.arithmetic) * max(0.0, 1 - float(mass[-1]))
        away += max(abs(1 - normalizer[0]), abs(normalizer[1] - 1)) + stage.softmax.total
    elif n < everything and not sums_exactly(stage.softmax.p[_tail(stage)], sums):
        exact = False
        away += _from_the_end(stage, float(mass[-2] if n > 1 else 0.0), normalizer)
    at_least = max(1, at_least)
    if n < min(at_least, everything):
        raise Wrong("survivors", got=n, at_least=min(at_least, everything))
    if n < everything and not _enough(mass[-1] * (1 + error), low - away, strict):
        raise Wrong("survivors", got=n, mass=float(mass[-1]), threshold=low)
    if n - 1 >= at_least and _enough(mass[-2] * (1 - error), high + away, strict):
        raise Wrong("survivors", got=n, mass=float(mass[-2]), threshold=high)
    decided: frozenset[Decision] = frozenset()
    for i in range(max(n - 1, at_least), min(n, everything - 1) + 1) if exact else ():
        by = "sum" if i > 1 else "comparison"
        decided |= beside([by], mass[i - 1], (low - away, high + away))
    stage.cuts.append(Cut(_lean(mass, threshold, at_least, everything, strict), decided))


def _tail(stage: Stage) -> NDArray[np.int64]:
    """Return the places of the last survivor and of the candidates that are gone."""
    return np.append(stage.removed, stage.at[-1])


def _from_the_end(stage: Stage, mass: float, normalizer: tuple[float, float]) -> float:
    """Return by how much 1 - the sum of the tail may differ from the mass of the others: the tail
    has errors of its own, of each p, the normalizer and the sum."""
    gone = _tail(stage)
    tail, errors = stage.softmax.p[gone], stage.softmax.errors[gone]
    share = of_sum(len(gone), stage.arithmetic) + max(1 - normalizer[0], normalizer[1] - 1)
    return float(abs(1 - tail.sum() - mass) + (tail * errors).sum() + tail.sum() * share)


def exact_sums(stage: Stage, p: Reals) -> bool:
    """Return whether no sum of these probabilities is rounded. The report shows only 24 bits of a
    float64; then p must be the exact value, as for equal logits."""
    if stage.arithmetic.probabilities == "float64":
        held = stage.softmax.p[stage.at]
        return bool((abs(held - p) <= 2.0**-50 * p).all()) and sums_exactly(p, "float32")
    return sums_exactly(p, stage.arithmetic.sums)


def _enough(mass: float, threshold: float, strict: bool) -> bool:
    return mass > threshold if strict else mass >= threshold


def _lean(
    mass: Reals, threshold: tuple[float, float], at_least: int, everything: int, strict: bool
) -> int:
    """Return how many tokens the cut is behind the exact sum of the reported p, or ahead of it."""
    low, high = threshold
    enough = mass > high if strict else mass >= high
    enough[: at_least - 1] = False
    n = len(mass)
    if enough.any():
        return n - 1 - int(enough.argmax())
    return -1 if n < everything and mass[-1] < low else 0
