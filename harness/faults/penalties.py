"""penalties, wrong in one way each."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.penalties import Penalties


class Steps(Penalties):
    """penalties with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.off() or self.penalty_last_n == 0:
            return
        counts = Counter(self.window())
        seen = self.where(cand, list(counts))
        count = np.array([counts[t] for t in cand.ids[seen].tolist()], np.float32)
        logits = cand.logits.copy()
        logits[seen] = self.repeated(logits[seen], count) - self.subtracted(count)
        cand.logits = logits
        cand.sorted = False

    def off(self) -> bool:
        plain = self.penalty_freq == 0 and self.penalty_present == 0
        return bool(self.penalty_repeat == 1 and plain)

    def window(self) -> list[int]:
        return list(self.history)

    def where(self, cand: Candidates, tokens: list[int]) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(cand.ids, tokens))

    def repeated(self, old: NDArray[Any], _count: NDArray[Any]) -> NDArray[Any]:
        return np.where(old <= 0, old * self.penalty_repeat, old / self.penalty_repeat)

    def subtracted(self, count: NDArray[Any]) -> NDArray[Any]:
        return count * self.penalty_freq + self.penalty_present


class AlwaysDivides(Steps):
    """A negative logit is divided too and rises."""

    def repeated(self, old: NDArray[Any], _count: NDArray[Any]) -> NDArray[Any]:
        return old / self.penalty_repeat


class PerOccurrence(Steps):
    """penalty_repeat is applied once for every occurrence."""

    def repeated(self, old: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        factor = self.penalty_repeat**count
        return np.where(old <= 0, old * factor, old / factor)


class OldestOfTheHistory(Steps):
    """The first penalty_last_n tokens of the history count, not the last."""

    def accept(self, token: int) -> None:
        if len(self.history) < self.penalty_last_n:
            self.history.append(token)


class SwapsFreqAndPresent(Steps):
    """penalty_freq and penalty_present are exchanged."""

    def subtracted(self, count: NDArray[Any]) -> NDArray[Any]:
        return count * self.penalty_present + self.penalty_freq


class PresentIsFreq(Steps):
    """penalty_freq is used in the place of penalty_present too."""

    def subtracted(self, count: NDArray[Any]) -> NDArray[Any]:
        return count * self.penalty_freq + self.penalty_freq


class PresentPerOccurrence(Steps):
    """penalty_present counts for every occurrence."""

    def subtracted(self, count: NDArray[Any]) -> NDArray[Any]:
        return count * (self.penalty_freq + self.penalty_present)


class SubtractsOneByOne(Steps):
    """freq and present are subtracted one after the other: another last bit."""

    def subtracted(self, count: NDArray[Any]) -> NDArray[Any]:
        return np.zeros_like(count)

    def repeated(self, old: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        scaled = super().repeated(old, count)
        return scaled - count * self.penalty_freq - self.penalty_present


class OnlyRepeatSwitchesOn(Steps):
    """penalty_repeat = 1 disables the other two as well."""

    def off(self) -> bool:
        return bool(self.penalty_repeat == 1)


class NoWindowCrashes(Steps):
    """penalty_last_n = 0 with an active penalty indexes an empty buffer."""

    def accept(self, token: int) -> None:
        if self.penalty_last_n == 0:
            raise IndexError("ring buffer of no capacity")
        super().accept(token)


class WindowOneMore(Steps):
    """The window is one token too long."""

    def __init__(
        self,
        penalty_last_n: Any,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        more = penalty_last_n + 1 if penalty_last_n > 0 else 0
        super().__init__(more, penalty_repeat, penalty_freq, penalty_present)


class NewestLeftOut(Steps):
    """The token accepted last does not count yet."""

    def window(self) -> list[int]:
        return list(self.history)[:-1]


class PromptIgnored(Steps):
    """Tokens accepted before the first step do not count."""

    n_prompt: int | None = None

    def apply(self, cand: Candidates) -> None:
        if self.n_prompt is None:
            self.n_prompt = len(self.history)
            self.history.clear()
        super().apply(cand)


class OutputIgnored(Steps):
    """Only tokens accepted before the first step count."""

    begun = False

    def apply(self, cand: Candidates) -> None:
        self.begun = True
        super().apply(cand)

    def accept(self, token: int) -> None:
        if not self.begun:
            super().accept(token)


class CutAtThePrompt(Steps):
    """With the first token generated the window begins anew, without the prompt."""

    at_border = False
    behind = False

    def apply(self, cand: Candidates) -> None:
        self.at_border = not self.behind
        super().apply(cand)

    def accept(self, token: int) -> None:
        if self.at_border:
            self.history.clear()
            self.at_border, self.behind = False, True
        super().accept(token)


class FlagStaysSorted(Steps):
    """The flag that says `sorted` stays true although logits changed."""

    def apply(self, cand: Candidates) -> None:
        was = cand.sorted
        super().apply(cand)
        cand.sorted = was


class FlagClearedOnlyIfSeen(Steps):
    """The flag that says `sorted` is cleared only where a token was penalized."""

    def apply(self, cand: Candidates) -> None:
        was, before = cand.sorted, cand.logits
        super().apply(cand)
        if cand.logits is before or np.array_equal(before, cand.logits, equal_nan=True):
            cand.sorted = was


class OnLogProbabilities(Steps):
    """The penalties meet log-probabilities instead of logits."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if not self.off() and self.penalty_last_n and len(cand):
            trial = cand.copy()
            trial.softmax(sort=False)
            cand.logits = floats.log(trial.p)
        super().apply(cand)


class ByPosition(Steps):
    """The token is looked up by its position, as if ids were positions."""

    def where(self, cand: Candidates, tokens: list[int]) -> NDArray[np.intp]:
        return np.array([t for t in sorted(tokens) if 0 <= t < len(cand)], np.intp)


class ResetKeepsHistory(Steps):
    """Reset leaves the history."""

    def reset(self) -> None:
        pass


class CloneSharesHistory(Steps):
    """A clone writes into the same history."""

    def clone(self) -> Penalties:
        twin = super().clone()
        twin.history = self.history
        return twin


class CloneForgets(Steps):
    """A clone starts with an empty history."""

    def clone(self) -> Penalties:
        twin = super().clone()
        twin.history.clear()
        return twin


MUTANTS = [
    Mutant(
        "penalties/always-divides",
        AlwaysDivides,
        "bug zoo 31, HF #2302",
        case="penalties/sign-rule",
    ),
    Mutant(
        "penalties/per-occurrence", PerOccurrence, "bug zoo 32", case="penalties/once-per-token"
    ),
    Mutant(
        "penalties/oldest-of-the-history",
        OldestOfTheHistory,
        "bug zoo 36, LCP #1295",
        case="penalties/last-n-not-first-n",
    ),
    Mutant(
        "penalties/swaps-freq-and-present",
        SwapsFreqAndPresent,
        "bug zoo 40, OL #10771",
        case="penalties/frequency-times-count",
    ),
    Mutant(
        "penalties/present-is-freq",
        PresentIsFreq,
        "bug zoo 40, OL #10771",
        case="penalties/frequency-times-count",
    ),
    Mutant("penalties/present-per-occurrence", PresentPerOccurrence),
    Mutant(
        "penalties/subtracts-one-by-one",
        SubtractsOneByOne,
        case="penalties/parameters/normal-V6-n9-r0.5-f-0.25-p-0.5",
    ),
    Mutant(
        "penalties/only-repeat-switches-on",
        OnlyRepeatSwitchesOn,
        "bug zoo 44",
        case="penalties/each-alone",
    ),
    Mutant(
        "penalties/no-window-crashes",
        NoWindowCrashes,
        "bug zoo 39, LC #9356",
        at="crashed",
        case="penalties/zero-window-is-off",
    ),
    Mutant("penalties/window-one-more", WindowOneMore),
    Mutant("penalties/newest-left-out", NewestLeftOut, "bug zoo 43, SG #1001"),
    Mutant("penalties/prompt-ignored", PromptIgnored, "bug zoo 34, VL #1424; 35, LC #8971"),
    Mutant(
        "penalties/output-ignored",
        OutputIgnored,
        "bug zoo 43, SG #1001",
        case="penalties/parameters/normal-V6-n9-r0.5-f-0.25-p-0.5",
    ),
    Mutant(
        "penalties/cut-at-the-prompt", CutAtThePrompt, case="origin/window-moves-out-of-the-prompt"
    ),
    Mutant(
        "penalties/flag-stays-sorted",
        FlagStaysSorted,
        "bug zoo 46, KC #1078",
        case="penalties/sorted-is-cleared-without-effect",
    ),
    Mutant(
        "penalties/flag-cleared-only-if-seen",
        FlagClearedOnlyIfSeen,
        case="penalties/sorted-is-cleared-without-effect",
    ),
    Mutant("penalties/on-log-probabilities", OnLogProbabilities, "bug zoo 33, HF #47595"),
    Mutant("penalties/by-position", ByPosition),
    Mutant(
        "penalties/reset-keeps-history",
        ResetKeepsHistory,
        "bug zoo 54, LC #21594",
        case="state/odd",
    ),
    Mutant("penalties/clone-shares-history", CloneSharesHistory, case="state/odd"),
    Mutant("penalties/clone-forgets", CloneForgets, case="state/odd"),
]
