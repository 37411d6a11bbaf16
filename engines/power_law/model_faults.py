"""power_law, wrong in one way each."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.power_law.model import FAR_LOGIT, PowerLaw
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import discrete


class Steps(PowerLaw):
    """power_law with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        zeros = np.zeros_like(cand.logits)
        cand.softmax(sort=False)
        before = cand.p
        moved = self.reshaped(before, self.computed_target(before.dtype.type))
        cand.logits = self.masked(cand.logits, moved)
        cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)
        self.remember(self.recorded(zeros, before, cand.p)[cand.selected])

    def masked(self, before: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
        return moved

    def recorded(
        self, _zeros: NDArray[Any], before: NDArray[Any], _after: NDArray[Any]
    ) -> NDArray[Any]:
        return before

    def remember(self, p: Any) -> None:
        self.history.append(p)


class ReadTooEarly(Steps):
    """The probabilities recorded are those before the softmax: zeros."""

    def recorded(
        self, zeros: NDArray[Any], _before: NDArray[Any], _after: NDArray[Any]
    ) -> NDArray[Any]:
        return zeros


class ReadTooLate(Steps):
    """The probabilities recorded are those after the transform."""

    def recorded(
        self, _zeros: NDArray[Any], _before: NDArray[Any], after: NDArray[Any]
    ) -> NDArray[Any]:
        return after


class LengthForQueueSize(Steps):
    """While the history is short its length stands for queue_size in the formula."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        size = self.queue_size
        self.queue_size = max(1, len(self.history))
        target = super().computed_target(kind)
        self.queue_size = size
        return target


class OldestLeftIn(Steps):
    """The sum takes the whole queue, the oldest included."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        if not self.history:
            return kind(self.target)
        total = floats.total(np.array(self.history, kind))
        following = kind(self.target) * kind(self.queue_size) - total
        return max(kind(self.min_target), min(following, kind(self.max_target)))


class NewestLeftOut(Steps):
    """The sum leaves out the newest instead of the oldest."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        history = self.history
        if len(history) == self.queue_size:
            turned = list(history)
            self.history = deque([turned[-1], *turned[:-1]], maxlen=self.queue_size)
        target = super().computed_target(kind)
        self.history = history
        return target


class NotClamped(Steps):
    """The target may leave min_target..max_target."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        bounds = self.min_target, self.max_target
        self.min_target, self.max_target = np.float32(-np.inf), np.float32(np.inf)
        target = super().computed_target(kind)
        self.min_target, self.max_target = bounds
        return target


class BaseClamped(Steps):
    """The base target is clamped, too, before there is a history."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        target = super().computed_target(kind)
        return max(kind(self.min_target), min(target, kind(self.max_target)))


class KeepsBanned(Steps):
    """-inf is not transformed, as in adaptive_p."""

    def masked(self, before: NDArray[Any], moved: NDArray[Any]) -> NDArray[Any]:
        return np.where(before == -np.inf, before, moved)


class WidthMultiplied(Steps):
    """The distance is multiplied by the inverse of the width, not divided by it."""

    def reshaped(self, p: NDArray[Any], target: Any) -> NDArray[Any]:
        if self.distribution_width <= np.float32(2.0**-23):
            return super().reshaped(p, target)
        one = np.float32(1)
        normalized = abs(p - target) * (one / self.distribution_width)
        return self.peak_logit_value / (one + floats.powers(normalized, self.tail_heaviness))  # type: ignore[no-any-return]


class WidthZeroDivides(Steps):
    """A width of 0 is divided by."""

    def reshaped(self, p: NDArray[Any], target: Any) -> NDArray[Any]:
        one = np.float32(1)
        normalized = abs(p - target) / self.distribution_width
        return self.peak_logit_value / (one + floats.powers(normalized, self.tail_heaviness))  # type: ignore[no-any-return]


class LastOfTheNearest(Steps):
    """With width 0 the last of the nearest tokens is taken."""

    def reshaped(self, p: NDArray[Any], target: Any) -> NDArray[Any]:
        if self.distribution_width > np.float32(2.0**-23):
            return super().reshaped(p, target)
        logits = np.full_like(p, FAR_LOGIT)
        logits[len(p) - 1 - int(np.argmin(abs(p - target)[::-1]))] = self.peak_logit_value
        return logits


class Sorts(Steps):
    """Candidates are sorted."""

    def apply(self, cand: Candidates) -> None:
        if len(cand) and not cand.sorted:
            cand.partial_sort(len(cand))
        super().apply(cand)


class RemembersOnAccept(Steps):
    """The history moves with accept, as adaptive_p's."""

    pending: Any = None

    def remember(self, p: Any) -> None:
        self.pending = p

    def accept(self, token: int) -> None:
        if self.pending is not None:
            self.history.append(self.pending)
        self.pending = None


class ResetKeepsHistory(Steps):
    """Reset restarts the generator but leaves the history."""

    def reset(self) -> None:
        self.rng.seed(self.seed)


class ResetKeepsStream(Steps):
    """Reset forgets the history but leaves the generator where it is."""

    def reset(self) -> None:
        self.history.clear()


class CloneSharesHistory(Steps):
    """A clone appends to the same history."""

    def clone(self) -> PowerLaw:
        twin = super().clone()
        twin.history = self.history
        return twin


class OneForAll(Steps):
    """A single candidate uses up a draw."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(cand) == 1:
            self.rng.uniform_double()


MUTANTS = [
    Mutant("power_law/read-too-early", ReadTooEarly, "bug zoo 50, IK #1155"),
    Mutant("power_law/read-too-late", ReadTooLate, "bug zoo 50"),
    Mutant("power_law/length-for-queue-size", LengthForQueueSize, case="power_law/saturates"),
    Mutant("power_law/oldest-left-in", OldestLeftIn),
    Mutant(
        "power_law/newest-left-out",
        NewestLeftOut,
        case="power_law/exponents-of-small-powers/plain-w0.0-h0.0-q5",
    ),
    Mutant("power_law/not-clamped", NotClamped),
    Mutant("power_law/base-clamped", BaseClamped),
    Mutant("power_law/keeps-banned", KeepsBanned, case="power_law/masked-is-revived"),
    Mutant("power_law/width-multiplied", WidthMultiplied),
    Mutant("power_law/width-zero-divides", WidthZeroDivides),
    Mutant("power_law/last-of-the-nearest", LastOfTheNearest),
    Mutant("power_law/sorts", Sorts),
    Mutant(
        "power_law/remembers-on-accept", RemembersOnAccept, case="power_law/draws-move-the-history"
    ),
    Mutant(
        "power_law/reset-keeps-history",
        ResetKeepsHistory,
        "bug zoo 52, IK #2337",
        case="power_law/state/normal-V20-reset",
    ),
    Mutant(
        "power_law/reset-keeps-stream",
        ResetKeepsStream,
        "bug zoo 55, LC #9398",
        case="power_law/state/normal-V20-reset",
    ),
    Mutant(
        "power_law/clone-shares-history",
        CloneSharesHistory,
        case="power_law/state/normal-V20-clone",
    ),
    Mutant("power_law/singleton-draws", OneForAll, case="power_law/one-candidate"),
]
