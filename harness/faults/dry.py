"""dry, wrong in one way each."""

from collections import deque
from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.dry import Dry, suffix_repeats


class Steps(Dry):
    """dry with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if not self.on or len(self.history) <= self.dry_allowed_length:
            return
        latest_first = list(reversed(self.history))
        limit = self._limit(latest_first)
        if limit < self.dry_allowed_length:
            return
        longest = self.longest(latest_first, suffix_repeats(latest_first, limit))
        logits = cand.logits.copy()
        for i in np.flatnonzero(np.isin(cand.ids, list(longest))):
            token = int(cand.ids[i])
            if not self.exempt(token):
                logits[i] -= self._penalty(longest[token], np.float32)
        cand.logits = logits
        cand.sorted = False

    def longest(self, latest_first: list[int], repeats: list[int]) -> dict[int, int]:
        longest: dict[int, int] = {}
        for distance in range(1, len(latest_first)):
            token, length = latest_first[distance - 1], repeats[distance]
            if self.long_enough(length) and length > longest.get(token, -1):
                longest[token] = length
        return longest

    def long_enough(self, length: int) -> bool:
        return length >= self.dry_allowed_length

    def exempt(self, token: int) -> bool:
        return () in self.breakers.get(token, ())


class AllowedLengthExceeded(Steps):
    """A repetition must be longer than dry_allowed_length to count."""

    def long_enough(self, length: int) -> bool:
        return length > self.dry_allowed_length


class ExponentFromZero(Steps):
    """The exponent is the whole length of the repetition."""

    def _penalty(self, length: int, kind: type[Any]) -> Any:
        return super()._penalty(length + self.dry_allowed_length, kind)


class GrowsLinearly(Steps):
    """The penalty grows by dry_base times the length, not by its power."""

    def _penalty(self, length: int, kind: type[Any]) -> Any:
        return kind(self.dry_multiplier * self.dry_base * (length - self.dry_allowed_length))


class PowerInFloat(Steps):
    """The power is taken in float32: another last bit."""

    def _penalty(self, length: int, kind: type[Any]) -> Any:
        power = floats.power(self.dry_base, np.float32(length - self.dry_allowed_length))
        return self.dry_multiplier * power


class ExponentNotCapped(Steps):
    """The exponent has no limit: a long repetition makes the penalty infinite."""

    def _penalty(self, length: int, kind: type[Any]) -> Any:
        with np.errstate(over="ignore"):
            exponent = np.float64(length - self.dry_allowed_length)
            power = floats.power(np.float64(self.dry_base), exponent)
            return kind(np.float64(self.dry_multiplier) * power)


class LatestMatchOnly(Steps):
    """The latest earlier copy counts, not the longest."""

    def longest(self, latest_first: list[int], repeats: list[int]) -> dict[int, int]:
        lengths: dict[int, int] = {}
        for distance in range(1, len(latest_first)):
            if self.long_enough(repeats[distance]):
                lengths.setdefault(latest_first[distance - 1], repeats[distance])
        return lengths


class OldestMatchOnly(Steps):
    """The oldest earlier copy counts, not the longest."""

    def longest(self, latest_first: list[int], repeats: list[int]) -> dict[int, int]:
        lengths: dict[int, int] = {}
        for distance in range(1, len(latest_first)):
            if self.long_enough(repeats[distance]):
                lengths[latest_first[distance - 1]] = repeats[distance]
        return lengths


class PenalizesEachMatch(Steps):
    """Every earlier copy of any length adds its own penalty."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if not self.on or len(self.history) <= self.dry_allowed_length:
            return
        latest_first = list(reversed(self.history))
        repeats = suffix_repeats(latest_first, self._limit(latest_first))
        longest = self.longest(latest_first, repeats)
        for distance in range(1, len(latest_first)):
            token, length = latest_first[distance - 1], repeats[distance]
            if self.long_enough(length) and length < longest.get(token, -1):
                cand.logits[cand.ids == token] -= self._penalty(length, np.float32)


class BreakerIncluded(Steps):
    """A repetition may reach one token further, into the breaker."""

    def _limit(self, latest_first: list[int]) -> int:
        return min(super()._limit(latest_first) + 1, len(latest_first))


class BreakersIgnored(Steps):
    """Sequence breakers do not end the search."""

    def _limit(self, latest_first: list[int]) -> int:
        return len(latest_first)


class TailsIgnored(Steps):
    """The first token of a breaker of several breaks by itself."""

    def _limit(self, latest_first: list[int]) -> int:
        for i, token in enumerate(latest_first):
            if token in self.breakers:
                return i
        return len(latest_first)


class BreakerTokensPenalized(Steps):
    """A token that is a breaker by itself is penalized too."""

    def exempt(self, token: int) -> bool:
        return False


class AllBreakerHeadsExempt(Steps):
    """The first token of any breaker is exempt, also of one of several tokens."""

    def exempt(self, token: int) -> bool:
        return token in self.breakers


class BaseBelowOneIsOn(Steps):
    """dry_base < 1 does not disable."""

    def accept(self, token: int) -> None:
        self.on = bool(self.dry_multiplier != 0 and self.dry_penalty_last_n != 0)
        super().accept(token)


class WindowIgnored(Steps):
    """dry_penalty_last_n does not limit the history."""

    def accept(self, token: int) -> None:
        if self.history.maxlen is not None:
            self.history = deque(self.history)
        super().accept(token)


class FlagStaysSorted(Steps):
    """The flag that says `sorted` stays true although logits changed."""

    def apply(self, cand: Candidates) -> None:
        was = cand.sorted
        super().apply(cand)
        cand.sorted = was


class ResetKeepsHistory(Steps):
    """Reset leaves the history."""

    def reset(self) -> None:
        pass


class CloneSharesHistory(Steps):
    """A clone writes into the same history."""

    def clone(self) -> Dry:
        twin = super().clone()
        twin.history = self.history
        return twin


class CloneForgetsBreakers(Steps):
    """A clone has no sequence breakers."""

    def clone(self) -> Dry:
        twin = super().clone()
        twin.breakers = {}
        return twin


MUTANTS = [
    Mutant("dry/allowed-length-exceeded", AllowedLengthExceeded, case="dry/prolongs-a-repetition"),
    Mutant("dry/exponent-from-zero", ExponentFromZero),
    Mutant("dry/grows-linearly", GrowsLinearly),
    Mutant("dry/power-in-float", PowerInFloat, case="dry/cap/normal-V5-hundred-m1e-30-b4.0-a0"),
    Mutant("dry/exponent-not-capped", ExponentNotCapped, case="dry/cap"),
    Mutant("dry/latest-match-only", LatestMatchOnly, case="dry/longest-copy-counts"),
    Mutant(
        "dry/oldest-match-only", OldestMatchOnly, case="dry/cap/normal-V5-hundred-m1e-30-b1.75-a0"
    ),
    Mutant(
        "dry/penalizes-each-match",
        PenalizesEachMatch,
        "bug zoo 32",
        case="dry/cap/normal-V5-hundred-m1e-30-b1.75-a0",
    ),
    Mutant("dry/breaker-included", BreakerIncluded),
    Mutant(
        "dry/breakers-ignored", BreakersIgnored, "bug zoo 44", case="dry/breaker-ends-the-search"
    ),
    Mutant("dry/tails-ignored", TailsIgnored),
    Mutant(
        "dry/breaker-tokens-penalized",
        BreakerTokensPenalized,
        case="dry/random-breakers/",
    ),
    Mutant(
        "dry/all-breaker-heads-exempt",
        AllBreakerHeadsExempt,
        case="dry/random-breakers/",
    ),
    Mutant(
        "dry/base-below-one-is-on",
        BaseBelowOneIsOn,
        case="dry/parameters/normal-V6-m-0.5-b0.99-a2-n64",
    ),
    Mutant(
        "dry/window-ignored",
        WindowIgnored,
        "bug zoo 36, LCP #1295",
        case="dry/window-cuts-the-copy",
    ),
    Mutant(
        "dry/flag-stays-sorted",
        FlagStaysSorted,
        "bug zoo 46, KC #1078",
        case="dry/flag/normal-V20-none-m0.8-a-1-n1",
    ),
    Mutant(
        "dry/reset-keeps-history",
        ResetKeepsHistory,
        "bug zoo 54, LC #21594",
        case="dry/random-breakers/",
    ),
    Mutant("dry/clone-shares-history", CloneSharesHistory, case="dry/random-breakers/"),
    Mutant("dry/clone-forgets-breakers", CloneForgetsBreakers, case="dry/clone-keeps-breakers"),
]
