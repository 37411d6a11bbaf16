"""akunu, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model import pipeline as akunu
from sampler_parity.engines.akunu.model.pipeline import Akunu
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats, sorting
from sampler_parity.reference.random import Mt19937


class Steps(Akunu):
    """akunu with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        akunu.require_vocabulary(cand)
        if self.logits == "f16":
            cand.logits = self.converted(cand.logits)
            self.penalize(cand.logits)
        if self.temperature <= 0:
            cand.selected = self.greedy(cand.logits)
            return
        self.warm(cand)
        cand.p = akunu.softmax(cand.logits)
        cand.keep(sorting.std_partial_sort(cand.p, self.width(len(cand))))
        self.filter(cand)
        self.renormalize(cand)
        cand.selected = self.walk(cand.p, self.uniform())

    def converted(self, logits: NDArray[Any]) -> NDArray[Any]:
        return akunu.to_half(logits)

    def penalize(self, logits: NDArray[Any]) -> None:
        akunu.penalize(logits, self.prev_tokens, self.repeat_penalty)

    def greedy(self, logits: NDArray[Any]) -> int:
        return int(floats.first_largest(logits))

    def warm(self, cand: Candidates) -> None:
        cand.logits = cand.logits * akunu.inverse(self.temperature, cand.logits)

    def width(self, n: int) -> int:
        return akunu.effective_k(self.top_k, n)

    def filter(self, cand: Candidates) -> None:
        cand.keep(slice(0, self._min_p_cut(cand.p)))
        cand.keep(slice(0, self.top_p_cut(cand.p)))

    def top_p_cut(self, p: NDArray[Any]) -> int:
        return akunu.top_p_cut(p, self.top_p)

    def renormalize(self, cand: Candidates) -> None:
        cand.p = cand.p * akunu.inverse(floats.total(cand.p), cand.p)

    def uniform(self) -> Any:
        return self.rng.uniform_float()

    def walk(self, p: NDArray[Any], r: Any) -> int:
        return akunu.walk(p, r)


class PenaltyPerToken(Steps):
    """A token is penalized once, however often it occurs."""

    def penalize(self, logits: NDArray[Any]) -> None:
        akunu.penalize(logits, sorted(set(self.prev_tokens)), self.repeat_penalty)


class PenaltyDividesNegative(Steps):
    """Negative logits are divided, too."""

    def penalize(self, logits: NDArray[Any]) -> None:
        for token in self.prev_tokens:
            logits[token] /= self.repeat_penalty


class PenaltyWindow(Steps):
    """Only the last 64 tokens are penalized."""

    def penalize(self, logits: NDArray[Any]) -> None:
        akunu.penalize(logits, self.prev_tokens[-64:], self.repeat_penalty)


class NotRoundedToHalf(Steps):
    """The logits are taken as float32."""

    def converted(self, logits: NDArray[Any]) -> NDArray[Any]:
        return logits.copy()


class GreedyTakesTheLast(Steps):
    """Greedy takes the last of the largest."""

    def greedy(self, logits: NDArray[Any]) -> int:
        return len(logits) - 1 - int(np.argmax(logits[::-1]))


class TemperatureAfterFilters(Steps):
    """The temperature comes behind the filters, as in llama.cpp's chain."""

    def warm(self, cand: Candidates) -> None:
        pass

    def renormalize(self, cand: Candidates) -> None:
        super().warm(cand)
        cand.p = akunu.softmax(cand.logits)


class DividesByTemperature(Steps):
    """Logits are divided by the temperature instead of multiplied by its inverse."""

    def warm(self, cand: Candidates) -> None:
        cand.logits = cand.logits / self.temperature


class NoCap(Steps):
    """top_k = 0 keeps all."""

    def width(self, n: int) -> int:
        return self.top_k if 0 < self.top_k < n else n


class CapOnEveryK(Steps):
    """256 is the most that any top_k keeps."""

    def width(self, n: int) -> int:
        return min(super().width(n), akunu.DEFAULT_CAP)


class MinPDropsTheThreshold(Steps):
    """A probability equal to min_p * max goes: <= for <."""

    def _min_p_cut(self, p: NDArray[Any]) -> int:
        if self.min_p <= 0:
            return len(p)
        return max(1, int((p > p[0] * self.min_p).sum()))


class TopPKeepsOneMore(Steps):
    """The sum must exceed top_p: > for >=."""

    def top_p_cut(self, p: NDArray[Any]) -> int:
        if self.top_p >= 1:
            return len(p)
        passed = floats.running_sum(p) > self.top_p
        return int(passed.argmax()) + 1 if passed.any() else len(p)


class RenormalizedBetweenFilters(Steps):
    """The survivors of top_k are renormalized before top_p, as in llama.cpp's chain."""

    def filter(self, cand: Candidates) -> None:
        Steps.renormalize(self, cand)
        super().filter(cand)


class LostRenormalization(Steps):
    """The survivors are not renormalized; the rest of the interval goes to the last."""

    def renormalize(self, cand: Candidates) -> None:
        pass


class Uniform24Bits(Steps):
    """The uniform is made of the upper 24 bits of a word."""

    def uniform(self) -> Any:
        return np.float32(int(self.rng.words(1)[0]) >> 8) / np.float32(2**24)


class UniformOverAllWords(Steps):
    """The word is divided by 2**32 - 1, in double."""

    def uniform(self) -> Any:
        return np.float32(float(self.rng.words(1)[0]) / 4294967295.0)


class UniformDouble(Steps):
    """The uniform number is a double of two words."""

    def uniform(self) -> Any:
        return np.float32(self.rng.uniform_double())


class WalkStrict(Steps):
    """The walk ends at r < sum, not at r <= sum."""

    def walk(self, p: NDArray[Any], r: Any) -> int:
        passed = r < floats.running_sum(p)
        return int(passed.argmax()) if passed.any() else len(p) - 1


class ResetKeepsHistory(Steps):
    """Reset restarts the generator but leaves the history."""

    def reset(self) -> None:
        self.rng.seed(self.seed)


class ResetKeepsStream(Steps):
    """Reset forgets the history but leaves the generator where it is."""

    def reset(self) -> None:
        self.prev_tokens = []


class CloneSharesHistory(Steps):
    """A clone appends to the same history."""

    def clone(self) -> Akunu:
        twin = super().clone()
        twin.prev_tokens = self.prev_tokens
        return twin


class FrozenStream(Steps):
    """The generator is copied for every draw and never written back."""

    def uniform(self) -> Any:
        frozen: Mt19937 = self.rng.clone()
        return frozen.uniform_float()


MUTANTS = [
    Mutant("akunu/penalty-per-token", PenaltyPerToken, case="akunu/penalty-per-occurrence"),
    Mutant("akunu/penalty-divides-negative", PenaltyDividesNegative),
    Mutant("akunu/penalty-window", PenaltyWindow),
    Mutant("akunu/not-rounded-to-half", NotRoundedToHalf, case="akunu/f16-rounds"),
    Mutant("akunu/greedy-takes-the-last", GreedyTakesTheLast),
    Mutant("akunu/temperature-after-filters", TemperatureAfterFilters),
    Mutant(
        "akunu/divides-by-temperature",
        DividesByTemperature,
        case="akunu/presets/zipf-V257-balanced",
    ),
    Mutant("akunu/no-cap", NoCap, case="akunu/cap-of-256"),
    Mutant("akunu/cap-on-every-k", CapOnEveryK, case="akunu/no-cap-below-the-vocabulary"),
    Mutant(
        "akunu/min_p-drops-the-threshold",
        MinPDropsTheThreshold,
        case="akunu/min_p-keeps-the-threshold",
    ),
    Mutant("akunu/top_p-keeps-one-more", TopPKeepsOneMore, case="akunu/top_p-keeps-what-reaches"),
    Mutant(
        "akunu/renormalized-between-filters",
        RenormalizedBetweenFilters,
        case="akunu/top_p-of-the-whole-mass",
    ),
    Mutant("akunu/lost-renormalization", LostRenormalization, case="akunu/renormalized"),
    Mutant("akunu/uniform-24-bits", Uniform24Bits, case="akunu/uniform-of-24-bits"),
    Mutant(
        "akunu/uniform-over-all-words", UniformOverAllWords, case="akunu/uniform-over-all-words"
    ),
    Mutant("akunu/uniform-double", UniformDouble),
    Mutant("akunu/walk-strict", WalkStrict, case="akunu/uniform-on-a-step"),
    Mutant("akunu/reset-keeps-history", ResetKeepsHistory, case="akunu/state/normal-V20-reset"),
    Mutant("akunu/reset-keeps-stream", ResetKeepsStream, case="akunu/state/normal-V20-reset"),
    Mutant("akunu/clone-shares-history", CloneSharesHistory, case="akunu/state/normal-V20-clone"),
    Mutant("akunu/frozen-stream", FrozenStream, case="akunu/presets/zipf-V257-balanced"),
]
