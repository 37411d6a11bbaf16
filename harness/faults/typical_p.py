"""typical_p, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats, sorting
from sampler_parity.reference.samplers.typical_p import TypicalP


class Steps(TypicalP):
    """typical_p with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p >= 1:
            return
        cand.softmax(sort=True)
        log_p = floats.log(cand.p)
        order = self.order(self.distance(log_p, self.entropy(cand.p, log_p)))
        cand.keep(order[: self.cut(floats.running_sum(cand.p[order]))])
        cand.sorted = False

    def entropy(self, p: NDArray[Any], log_p: NDArray[Any]) -> Any:
        return floats.total(-p * log_p)

    def distance(self, log_p: NDArray[Any], entropy: Any) -> NDArray[Any]:
        return abs(-log_p - entropy)

    def order(self, distance: NDArray[Any]) -> NDArray[Any]:
        return sorting.std_sort(-distance)

    def cut(self, mass: NDArray[Any]) -> int:
        enough = mass > self.p
        enough[: max(0, self.min_keep - 1)] = False
        return int(enough.argmax()) + 1 if enough.any() else len(mass)


class SignedDistance(Steps):
    """Surprise minus entropy is not made absolute: the likeliest tokens count as most typical."""

    def distance(self, log_p: NDArray[Any], entropy: Any) -> NDArray[Any]:
        return -log_p - entropy  # type: ignore[no-any-return]


class LeastTypicalFirst(Steps):
    """The order is descending."""

    def order(self, distance: NDArray[Any]) -> NDArray[Any]:
        return sorting.std_sort(distance)


class StableSort(Steps):
    """Equal distances keep the order of the logits."""

    def order(self, distance: NDArray[Any]) -> NDArray[Any]:
        return np.argsort(distance, kind="stable")


class CrossingTokenDropped(Steps):
    """The token whose mass crosses p goes, unless it is the only one."""

    def cut(self, mass: NDArray[Any]) -> int:
        n = super().cut(mass)
        return max(1, n - 1) if mass[n - 1] > self.p else n


class ReachesInsteadOfExceeds(Steps):
    """The mass may equal p: one token too few there."""

    def cut(self, mass: NDArray[Any]) -> int:
        enough = mass >= self.p
        enough[: max(0, self.min_keep - 1)] = False
        return int(enough.argmax()) + 1 if enough.any() else len(mass)


class MinKeepIgnored(Steps):
    """min_keep has no effect."""

    def cut(self, mass: NDArray[Any]) -> int:
        enough = mass > self.p
        return int(enough.argmax()) + 1 if enough.any() else len(mass)


class MinKeepOneMore(Steps):
    """min_keep is compared with the index, so one token more stays."""

    def cut(self, mass: NDArray[Any]) -> int:
        enough = mass > self.p
        enough[: self.min_keep] = False
        return int(enough.argmax()) + 1 if enough.any() else len(mass)


class EntropyInBits(Steps):
    """The entropy is in bits, the surprise in nats."""

    def entropy(self, p: NDArray[Any], log_p: NDArray[Any]) -> Any:
        return floats.total(-p * floats.log2(p))


class ZeroAddsNothing(Steps):
    """p = 0 adds nothing to the entropy, where llama.cpp gets NaN."""

    def entropy(self, p: NDArray[Any], log_p: NDArray[Any]) -> Any:
        return floats.total(np.where(p > 0, -p * log_p, np.float32(0)))


class FlagStaysSorted(Steps):
    """The flag that says `sorted` stays true after the reorder."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.sorted = cand.sorted or bool(self.p < 1)


class SortsBack(Steps):
    """The survivors are put back in the order of their logits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.p < 1:
            cand.keep(np.argsort(-cand.logits, kind="stable"))


class OneIsNotOff(Steps):
    """p = 1 still sorts by typicality."""

    def apply(self, cand: Candidates) -> None:
        if self.p < 1:
            super().apply(cand)
            return
        cand.softmax(sort=True)
        log_p = floats.log(cand.p)
        cand.keep(self.order(self.distance(log_p, self.entropy(cand.p, log_p))))
        cand.sorted = False


MUTANTS = [
    Mutant(
        "typical_p/signed-distance",
        SignedDistance,
        "bug zoo, the synthetic pair",
        case="typical_p/absolute-distance",
    ),
    Mutant(
        "typical_p/least-typical-first",
        LeastTypicalFirst,
        "bug zoo, the synthetic pair",
        case="typical_p/absolute-distance",
    ),
    Mutant("typical_p/stable-sort", StableSort, case="typical_p/matrix/ties-V129-p0.5-min_keep0"),
    Mutant("typical_p/crossing-token-dropped", CrossingTokenDropped, "bug zoo 3, LC #1953"),
    Mutant(
        "typical_p/reaches-instead-of-exceeds",
        ReachesInsteadOfExceeds,
        case="typical_p/mass-must-exceed-p",
    ),
    Mutant("typical_p/min-keep-ignored", MinKeepIgnored, "bug zoo 16, LC #13822"),
    Mutant("typical_p/min-keep-one-more", MinKeepOneMore, "bug zoo 15, LC #9587"),
    Mutant("typical_p/entropy-in-bits", EntropyInBits),
    Mutant(
        "typical_p/zero-adds-nothing",
        ZeroAddsNothing,
        case="typical_p/matrix/masked-V129-p0.5-min_keep0",
    ),
    Mutant(
        "typical_p/flag-stays-sorted",
        FlagStaysSorted,
        "bug zoo 18, LC #4261",
        case="typical_p/not-sorted-afterwards",
    ),
    Mutant("typical_p/sorts-back", SortsBack),
    Mutant("typical_p/one-is-not-off", OneIsNotOff, case="typical_p/p-one-is-off"),
]
