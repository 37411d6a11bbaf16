"""The probabilities of a stage: exact values, and how far a correct backend may be from them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import (
    Reals,
    normal_from,
    of_function,
    of_report,
    of_sum,
    unit,
    zero_below,
)
from sampler_parity.harness.protocol.arithmetic import Arithmetic

REPORTED = 2.0**-24  # a float64 in a report is rounded to float32


@dataclass(frozen=True)
class Softmax:
    """Probabilities p = exp(x - max) / sum: float64[n], summing to 1.

    A correct backend reports p_i = P_i c (1 + d_i) with |d_i| <= errors[i] and one c for all,
    1 / (1 + common) <= c <= 1 / (1 - common): the error of the sum is in every probability alike.
    defined: whether the sum is a positive finite number. Otherwise every p is NaN.
    """

    p: Reals
    errors: Reals
    common: float
    arithmetic: Arithmetic
    defined: bool = True

    @property
    def least(self) -> float:
        return 1 / (1 + self.common)

    @property
    def most(self) -> float:
        return 1 / (1 - self.common) if self.common < 1 else math.inf

    @property
    def total(self) -> float:
        """The mean error of p over the distribution, apart from that of the normalizer."""
        return float((self.p * self.errors).sum())

    @property
    def entropy(self) -> tuple[float, float]:
        """The entropy and its error: each term p log p has those of p and of log, the sum its own.
        p = 0 adds nothing."""
        p, errors = self.p[self.p > 0], (self.errors + self.common)[self.p > 0]
        surprise = -np.log(p)
        entropy = float((p * surprise).sum())
        share = of_function(self.arithmetic) + 2 * unit(self.arithmetic.probabilities)
        share += of_sum(len(p), self.arithmetic)
        return entropy, float((p * errors * (surprise + 1)).sum()) + entropy * share

    def off_in_log(self, at: Any) -> tuple[Reals, Reals]:
        """Return how far log p may be below and above that of these p > 0, the common factor apart.

        A subnormal p is the quotient of a subnormal weight: exp is off by its ULPs of the smallest
        subnormal, the division by half of it. One that is not 0 is at least the smallest.
        """
        kind = self.arithmetic.probabilities
        p, half = self.p[at], zero_below(kind)
        small = p < normal_from(kind)
        share = self.errors[at] + np.where(
            small, half * (2 + 2 * self.arithmetic.exp_ulps) / p, 0.0
        )
        least = np.where(small, np.minimum(2 * half / p, 1.0), 0.0)
        # 2**-1000 keeps the logarithm finite
        return -np.log(np.maximum(1 - share, np.maximum(least, 2.0**-1000))), np.log1p(share)

    def normalizer(self, got: Any, at: Any) -> tuple[float, float] | None:
        """Return the smallest and largest c that explain these probabilities of the tokens at
        these places; None: no c does."""
        exact, errors = self.p[at], self.errors[at]
        small = max(normal_from(self.arithmetic.probabilities), normal_from("float32"))
        if not self._small_ones_fit(
            got[exact < small], exact[exact < small], errors[exact < small]
        ):
            return None
        normal = exact >= small
        exact, errors, reported = exact[normal], errors[normal], np.asarray(got, np.float64)[normal]
        if len(exact) == 0:
            return self.least, self.most
        low = float((reported / (exact * (1 + errors))).max())
        rest = np.maximum(1 - errors, 0)
        high = float(np.divide(reported, exact * rest, out=np.full_like(exact, np.inf),
                               where=rest > 0).min())  # fmt: skip
        low, high = max(low, self.least), min(high, self.most)
        return (low, high) if low <= high else None

    def _small_ones_fit(self, got: Any, exact: Reals, errors: Reals) -> bool:
        # a finite factor: 0 times infinity would be NaN
        most = exact * (1 + errors) * min(self.most, 2.0**20)
        step = 2 * max(zero_below(self.arithmetic.probabilities), zero_below("float32"))
        return bool((np.asarray(got, np.float64) <= most + step).all() and (got >= 0).all())


def is_defined(logits: NDArray[Any]) -> bool:
    """Return whether candidates have probabilities: no NaN, no inf, and not all -inf."""
    return bool(np.isfinite(logits.max(initial=-np.inf)))


@np.errstate(all="ignore")
def softmax(low: Reals, high: Reals, arithmetic: Arithmetic, is_sorted: bool = False) -> Softmax:
    """Return the probabilities of logits that lie between low and high: float64[n] each.

    With d = x - max: rounding d costs |d| u, and so does d * log2(e) in front of an exp2. exp costs
    its stated error, the division and a reciprocal 3 u. One u is for the rounding of p. A
    backend that subtracts log(sum) before it takes exp has 3 u |log(sum)| more. A logit that is
    only known to be within h of its value costs h, and h of the maximum. A backend may
    subtract the first of candidates flagged as sorted: then d is the larger of both differences.
    """
    middle = np.where(low == high, low, (low + high) / 2)
    top = middle.max(initial=-np.inf)
    if not is_defined(middle):
        nothing = np.full_like(middle, np.nan)
        return Softmax(nothing, nothing, 0.0, arithmetic, defined=False)
    d = middle - top
    weights = np.exp(d)
    total = float(weights.sum())
    u, of_p = unit(arithmetic.logits), unit(arithmetic.probabilities)
    half = np.where(low == high, 0.0, (high - low) / 2)
    away = np.maximum(abs(d), abs(middle - middle[0]) if is_sorted else 0.0)
    away = np.where((weights > 0) & np.isfinite(away), away, 0.0)
    errors = 2 * away * u + of_function(arithmetic) + 4 * of_p
    # 2**-48 covers the rounding of this float64 computation
    errors += 3 * u * abs(math.log(total)) + half + float(half[middle.argmax()]) + 2.0**-48
    errors += of_report(arithmetic.probabilities)
    n = int((weights > normal_from(arithmetic.probabilities)).sum())
    common = of_sum(n, arithmetic) + float((weights * errors).sum()) / total
    return Softmax(weights / total, errors, common, arithmetic)
