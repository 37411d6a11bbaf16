"""top_p, wrong in one way each."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.top_p import TopP


class CrossingTokenDropped(TopP):
    """The largest set with mass <= p is kept: the token that crosses p goes."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        n = super()._cut(p)
        return n if n is None else max(n - 1, 1, min(self.min_keep, n))


class ExceedsInsteadOfReaches(TopP):
    """The mass must exceed p: one token too many where it equals p."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        enough = floats.running_sum(p) > self.p
        enough &= np.arange(1, len(p) + 1) >= self.min_keep
        return int(enough.argmax()) + 1 if enough.any() else None


class MassInDouble(TopP):
    """The running sum is double."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        return super()._cut(p.astype(np.float64))


class MassInHalf(TopP):
    """The running sum is float16, which stops growing over a large vocabulary."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        mass = np.add.accumulate(p.astype(np.float16))
        enough = (mass >= self.p) & (np.arange(1, len(p) + 1) >= self.min_keep)
        return int(enough.argmax()) + 1 if enough.any() else None


class MassInBfloat16(TopP):
    """The running sum is bfloat16: it counts in steps of 1/256 above a half."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        mass = np.float32(0)
        for n, share in enumerate(p, start=1):
            bits = np.float32(mass + share).view(np.uint32)
            bits = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)  # to nearest even
            mass = bits.view(np.float32)
            if mass >= self.p and n >= self.min_keep:
                return n
        return None


class AscendingMass(TopP):
    """Tokens go from the small end while their sum is at most 1 - p."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        if len(p) < 2 or not p.sum() > 0.999:
            return super()._cut(p)
        dropped = int((np.add.accumulate(p[::-1]) <= 1 - self.p).sum())
        return max(len(p) - dropped, 1, min(self.min_keep, len(p)))


class SurvivorsReversed(TopP):
    """What stays comes out with the least likely token first."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.p < 1:
            cand.keep(slice(None, None, -1))


class MinKeepIgnored(TopP):
    """min_keep has no effect."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        return TopP(self.p, 0)._cut(p)


class MinKeepOneMore(TopP):
    """min_keep keeps one token more."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        return TopP(self.p, self.min_keep + 1 if self.min_keep else 0)._cut(p)


class ZeroKeepsNone(TopP):
    """p <= 0 leaves no candidate."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.p <= 0 and self.min_keep == 0:
            cand.keep(slice(0))


class ZeroKeepsTokenZero(TopP):
    """p <= 0 falls back on index 0 before the sort."""

    def apply(self, cand: Candidates) -> None:
        if self.p <= 0:
            cand.softmax(sort=False)
            cand.keep(slice(1))
            cand.sorted = True
        else:
            super().apply(cand)


class OneIsNotOff(TopP):
    """p >= 1 still normalizes, sorts and cuts."""

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            always_on = TopP(0.5, self.min_keep)
            always_on.p = self.p
            cand.softmax(sort=True)
            cand.keep(slice(always_on._cut(cand.p)))
        else:
            super().apply(cand)


class NormalizesTheRest(TopP):
    """p is divided by the mass kept."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.p < 1:
            cand.p = cand.p / floats.total(cand.p)


class OnlyTheLargest256(TopP):
    """Beyond 1024 unsorted candidates only the 256 largest are looked at."""

    def apply(self, cand: Candidates) -> None:
        many = not cand.sorted and len(cand) > 1024 and self.p < 1
        super().apply(cand)
        if many:
            cand.keep(slice(256))


class AlwaysSortsInPlace(TopP):
    """Large inputs are sorted all at once, which orders ties otherwise than in two passes."""

    def apply(self, cand: Candidates) -> None:
        if self.p < 1:
            cand.softmax(sort=False)
            if not cand.sorted:
                cand.keep(self._sorted(cand))
                cand.sorted = True
            cand.keep(slice(self._cut(cand.p)))

    def _sorted(self, cand: Candidates) -> NDArray[np.intp]:
        cand.refuse_nan()
        return np.argsort(-cand.logits, kind="stable")


class SortedFlagForgotten(TopP):
    """The flag that says `sorted` stays false."""

    def apply(self, cand: Candidates) -> None:
        was = cand.sorted
        super().apply(cand)
        cand.sorted = was


class StaleMass(TopP):
    """The p left by an earlier stage are taken for current, where there are any."""

    def apply(self, cand: Candidates) -> None:
        if self.p >= 1 or not cand.sorted or not cand.p.any():
            super().apply(cand)
        else:
            cand.keep(slice(self._cut(cand.p)))


class CumulatesLogarithms(TopP):
    """The running sum is over log p, so that only the first token or all stay."""

    @np.errstate(all="ignore")
    def _cut(self, p: floats.FloatArray) -> int | None:
        return super()._cut(np.log(p))


class TakenAsTheyStand(TopP):
    """Candidates that nobody sorted are taken in the order in which they stand."""

    def apply(self, cand: Candidates) -> None:
        if self.p < 1:
            cand.softmax(sort=False)
            cand.keep(slice(self._cut(cand.p)))


class TiesOfTheLastStay(TopP):
    """Everything as likely as the last one kept stays too."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        n = super()._cut(p)
        return n if n is None else int((p >= p[n - 1]).sum())


class TiesThatDoNotFitGo(TopP):
    """Equal ones stay together: where not all of them fit, none does."""

    def _cut(self, p: floats.FloatArray) -> int | None:
        n = super()._cut(p)
        if n is None or n == len(p) or p[n] != p[n - 1]:
            return n
        return max(1, int((p > p[n - 1]).sum()))


class LowerOneAmongTies(TopP):
    """Where equal ones are cut, the last of those that stay is a lower one under their logit."""

    def apply(self, cand: Candidates) -> None:
        before = cand.copy()
        super().apply(cand)
        gone = ~np.isin(before.ids, cand.ids)
        lower = before.ids[gone & (before.logits < cand.logits[-1])]
        if (before.logits[gone] == cand.logits[-1]).any() and len(lower):
            cand.ids[-1] = lower[0]


MUTANTS = [
    Mutant("top_p/taken-as-they-stand", TakenAsTheyStand, "bug zoo 24, LC #1977"),
    Mutant(
        "top_p/crossing-token-dropped",
        CrossingTokenDropped,
        "bug zoo 3, LC #1953",
        case="top_p/crossing-token-is-kept",
    ),
    Mutant(
        "top_p/exceeds-instead-of-reaches",
        ExceedsInsteadOfReaches,
        "bug zoo 3, LC #1953",
        case="top_p/mass-equal-to-p-is-enough",
    ),
    Mutant("top_p/survivors-reversed", SurvivorsReversed),
    Mutant("top_p/mass-in-double", MassInDouble, case="top_p/large/flat-V32000-p0.5"),
    Mutant(
        "top_p/mass-in-half",
        MassInHalf,
        "bug zoo 70",
        case="top_p/matrix/normal-V1024-p0.95-min_keep0",
    ),
    Mutant(
        "top_p/mass-in-bfloat16",
        MassInBfloat16,
        "bug zoo 70, tt-metal #41635",
        case="top_p/matrix/normal-V1024-p0.95-min_keep0",
    ),
    Mutant(
        "top_p/ascending-mass",
        AscendingMass,
        "bug zoo 5, MX #388",
        case="top_p/boundary/four-p0.25000003-min_keep0",
    ),
    Mutant(
        "top_p/min-keep-ignored", MinKeepIgnored, "bug zoo 44", case="top_p/min-keep-two-of-p-zero"
    ),
    Mutant("top_p/min-keep-one-more", MinKeepOneMore, case="top_p/min-keep-two-of-p-zero"),
    Mutant(
        "top_p/zero-keeps-none",
        ZeroKeepsNone,
        "bug zoo 7, OL #9740",
        case="top_p/p-zero-keeps-argmax",
    ),
    Mutant(
        "top_p/zero-keeps-token-zero",
        ZeroKeepsTokenZero,
        "bug zoo 7",
        case="top_p/p-zero-keeps-argmax",
    ),
    Mutant("top_p/one-is-not-off", OneIsNotOff, case="top_p/p-one-is-off"),
    Mutant("top_p/normalizes-the-rest", NormalizesTheRest),
    Mutant(
        "top_p/only-the-largest-256",
        OnlyTheLargest256,
        case="top_p/matrix/zipf-V1025-p0.95-min_keep0",
    ),
    Mutant("top_p/always-sorts-in-place", AlwaysSortsInPlace),
    Mutant("top_p/sorted-flag-forgotten", SortedFlagForgotten),
    Mutant("top_p/stale-mass", StaleMass, "bug zoo 5, MX #388", case="chains/pairs-bpe/top_p"),
    Mutant("top_p/cumulates-logarithms", CumulatesLogarithms, "bug zoo 8"),
    Mutant("top_p/ties-of-the-last-stay", TiesOfTheLastStay, case="top_p/half-of-two"),
    Mutant("top_p/ties-that-do-not-fit-go", TiesThatDoNotFitGo, case="top_p/boundary/"),
    Mutant("top_p/lower-one-among-ties", LowerOneAmongTies, case="top_p/matrix/ties"),
]
