"""adaptive_p, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import discrete
from sampler_parity.reference.samplers.adaptive_p import INV_WIDTH, PEAK, SHARPNESS, AdaptiveP


class Steps(AdaptiveP):
    """adaptive_p with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        zeros = cand.p.copy()
        cand.softmax(sort=False)
        if self.target < 0:
            cand.selected = discrete(self.rng, cand.p)
            return
        before = cand.p.copy()
        moved = self.moved(cand.p)
        cand.logits = np.where(self.banned(cand), cand.logits, moved)
        cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)
        self.original_p = self.recorded(zeros, before, cand.p)
        self.pending_token = int(cand.ids[cand.selected])
        self.pending_index = cand.selected

    def moved(self, p: NDArray[Any]) -> NDArray[Any]:
        distance = abs((p - self.adapted()) * INV_WIDTH)
        peak, one = np.float32(PEAK), np.float32(1)
        return peak - np.float32(SHARPNESS) * distance * distance / (one + distance)  # type: ignore[no-any-return]

    def adapted(self) -> Any:
        target = self.target.clip(np.float32(0), np.float32(1))
        adapted = np.float32(2) * target - self.weighted_sum / self.total_weight
        return adapted.clip(np.float32(0), np.float32(1))

    def banned(self, cand: Candidates) -> NDArray[np.bool_]:
        return cand.logits == -np.inf  # type: ignore[no-any-return]

    def recorded(
        self, _zeros: NDArray[Any], before: NDArray[Any], _after: NDArray[Any]
    ) -> NDArray[Any]:
        return before


class RecordsBeforeSoftmax(Steps):
    """The probabilities recorded are those before the softmax: zeros."""

    def recorded(
        self, zeros: NDArray[Any], _before: NDArray[Any], _after: NDArray[Any]
    ) -> NDArray[Any]:
        return zeros


class RecordsAfterTheTransform(Steps):
    """The probabilities recorded are those after the transform."""

    def recorded(
        self, _zeros: NDArray[Any], _before: NDArray[Any], after: NDArray[Any]
    ) -> NDArray[Any]:
        return after.copy()


class RevivesBanned(Steps):
    """-inf is transformed too, and so becomes possible."""

    def banned(self, cand: Candidates) -> NDArray[np.bool_]:
        return np.zeros(len(cand), np.bool_)


class TargetNotAdapted(Steps):
    """The target does not follow the history."""

    def adapted(self) -> Any:
        return self.target.clip(np.float32(0), np.float32(1))


class AdaptedNotClamped(Steps):
    """The adapted target may leave 0..1."""

    def adapted(self) -> Any:
        target = self.target.clip(np.float32(0), np.float32(1))
        return np.float32(2) * target - self.weighted_sum / self.total_weight


class QuadraticTails(Steps):
    """The penalty grows with the square of the distance also far from the target."""

    def moved(self, p: NDArray[Any]) -> NDArray[Any]:
        distance = abs((p - self.adapted()) * INV_WIDTH)
        return np.float32(PEAK) - np.float32(SHARPNESS) * distance * distance  # type: ignore[no-any-return]


class NegativeIsZero(Steps):
    """A negative target counts as 0 instead of disabling."""

    def __init__(self, target: Any, seed: Any, decay: Any = 0.9) -> None:
        super().__init__(max(0.0, float(target)), seed, decay)


class HistoryStartsEmpty(Steps):
    """The average starts with nothing and takes over from the first token on."""

    def _forget(self) -> None:
        super()._forget()
        self.weighted_sum = self.total_weight = np.float32(0)

    def adapted(self) -> Any:
        return self.target if self.total_weight == 0 else super().adapted()


class DecayIgnored(Steps):
    """decay has no effect: always 0.9."""

    def __init__(self, target: Any, seed: Any, decay: Any = 0.9) -> None:
        super().__init__(target, seed, 0.9)


class DecayNotClamped(Steps):
    """decay may reach 1, which divides by 0."""

    @np.errstate(all="ignore")
    def __init__(self, target: Any, seed: Any, decay: Any = 0.9) -> None:
        super().__init__(target, seed, decay)
        self.decay = np.float32(decay).clip(np.float32(0), np.float32(np.inf))
        self._forget()


class ResetKeepsAverage(Steps):
    """Reset restarts the generator but leaves the average."""

    def reset(self) -> None:
        self.rng.seed(self.seed)


class ResetKeepsStream(Steps):
    """Reset forgets the average but leaves the generator where it is."""

    def reset(self) -> None:
        self._forget()


class CloneContinuesStream(Steps):
    """A clone continues the random stream, where llama.cpp's starts anew."""

    def clone(self) -> AdaptiveP:
        twin = super().clone()
        twin.rng = self.rng.clone()
        return twin


class CloneForgets(Steps):
    """A clone starts with the average of a new sampler."""

    def clone(self) -> AdaptiveP:
        return type(self)(self.target, self.seed, self.decay)


class CountsAnyToken(Steps):
    """Every accepted token moves the average, by the last probability drawn."""

    def accept(self, token: int) -> None:
        if self.pending_index >= 0:
            self.pending_token = token
        super().accept(token)


class Sorts(Steps):
    """Candidates are sorted."""

    def apply(self, cand: Candidates) -> None:
        if len(cand) and not cand.sorted:
            cand.partial_sort(len(cand))
        super().apply(cand)


MUTANTS = [
    Mutant("adaptive_p/records-before-softmax", RecordsBeforeSoftmax, "bug zoo 50, IK #1155"),
    Mutant("adaptive_p/records-after-the-transform", RecordsAfterTheTransform, "bug zoo 50"),
    Mutant(
        "adaptive_p/revives-banned",
        RevivesBanned,
        "bug zoo 52, IK #2337",
        case="adaptive_p/masked-stays-masked",
    ),
    Mutant("adaptive_p/target-not-adapted", TargetNotAdapted),
    Mutant(
        "adaptive_p/adapted-not-clamped", AdaptedNotClamped, case="adaptive_p/masked-stays-masked"
    ),
    Mutant("adaptive_p/quadratic-tails", QuadraticTails),
    Mutant("adaptive_p/negative-is-zero", NegativeIsZero, case="adaptive_p/negative-target-is-off"),
    Mutant("adaptive_p/history-starts-empty", HistoryStartsEmpty),
    Mutant("adaptive_p/decay-ignored", DecayIgnored, "bug zoo 44"),
    Mutant(
        "adaptive_p/decay-not-clamped",
        DecayNotClamped,
        case="adaptive_p/parameters/normal-V20-target0.0-decay1.5",
    ),
    Mutant(
        "adaptive_p/reset-keeps-average",
        ResetKeepsAverage,
        "bug zoo 52, IK #2337",
        case="state/streams",
    ),
    Mutant(
        "adaptive_p/reset-keeps-stream",
        ResetKeepsStream,
        "bug zoo 55, LC #9398",
        case="state/streams",
    ),
    Mutant("adaptive_p/clone-continues-stream", CloneContinuesStream, case="state/streams"),
    Mutant("adaptive_p/clone-forgets", CloneForgets, case="state/streams"),
    Mutant(
        "adaptive_p/counts-any-token",
        CountsAnyToken,
        case="adaptive_p/behind/normal-V20-other_token",
    ),
    Mutant("adaptive_p/sorts", Sorts),
]
