"""vLLM's temperature, filters, draw and logprobs, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.vllm.model import (
    VllmLogprobs,
    VllmMinP,
    VllmSample,
    VllmTemperature,
    VllmTopK,
    VllmTopP,
)
from sampler_parity.engines.vllm.model.sample import gumbel
from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class TakesSmall(VllmTemperature):
    """A temperature below 0.01 is taken as it is."""

    def __init__(self, temperature: Any) -> None:
        super().__init__(temperature)
        self.temperature = np.float32(temperature)


class Multiplies(VllmTemperature):
    """Logits are multiplied by the reciprocal: another last bit."""

    def apply(self, cand: Candidates) -> None:
        if self.temperature == 0:
            super().apply(cand)
        else:
            cand.logits = cand.logits * (np.float32(1) / self.temperature)
            cand.sorted = False


class LastOfEqual(VllmTemperature):
    """At temperature 0 the last of the largest is selected."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.temperature == 0:
            cand.selected = int(np.flatnonzero(cand.logits == cand.logits.max())[-1])


class BansEqual(VllmMinP):
    """Values that equal the threshold are banned, too."""

    def apply(self, cand: Candidates) -> None:
        p = softmax(cand.logits)
        cand.logits[p <= p.max() * self.min_p] = -np.inf
        cand.sorted = False


class OfOne(VllmMinP):
    """The threshold is min_p itself, not of the largest."""

    def apply(self, cand: Candidates) -> None:
        cand.logits[softmax(cand.logits) < self.min_p] = -np.inf
        cand.sorted = False


class FiltersGreedyByP(VllmMinP):
    """A greedy request is filtered, too."""

    def apply(self, cand: Candidates) -> None:
        selected, cand.selected = cand.selected, -1
        super().apply(cand)
        cand.selected = selected


class ExactlyK(VllmTopK):
    """Exactly k tokens stay, even if more are equal at the cut."""

    def apply(self, cand: Candidates) -> None:
        if cand.selected < 0 and 0 < self.top_k < len(cand):
            cand.logits[(-cand.logits).argsort(kind="stable")[self.top_k :]] = -np.inf
            cand.sorted = False


class OneLess(VllmTopK):
    """One token less stays."""

    def __init__(self, top_k: Any) -> None:
        super().__init__(max(1, top_k - 1) if top_k > 0 else top_k)


class ZeroIsOne(VllmTopK):
    """top_k of 0 keeps one token."""

    def __init__(self, top_k: Any) -> None:
        super().__init__(top_k or 1)


class Below(VllmTopP):
    """A mass that equals 1 - top_p stays."""

    def apply(self, cand: Candidates) -> None:
        order = cand.logits.argsort(kind="stable")
        mass = softmax(cand.logits[order]).cumsum(dtype=np.float64).astype(np.float32)
        banned = mass < np.float32(1) - self.top_p
        banned[-1] = False
        cand.logits[order[banned]] = -np.inf
        cand.sorted = False


class WithoutCrossing(VllmTopP):
    """The token that crosses top_p is banned."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        stay = np.flatnonzero(cand.logits != -np.inf)
        if self.top_p < 1 and cand.selected < 0 and len(stay) > 1:
            cand.logits[stay[cand.logits[stay].argmin()]] = -np.inf


class FiltersGreedyByMass(VllmTopP):
    """A greedy request is filtered, too."""

    def apply(self, cand: Candidates) -> None:
        selected, cand.selected = cand.selected, -1
        super().apply(cand)
        cand.selected = selected


class FirstWord(VllmSample):
    """The seed of a draw is the first of the two words."""

    def apply(self, cand: Candidates) -> None:
        if cand.selected < 0:
            seed = int(self.rng.words(2)[0]) % 2**31
            cand.selected = int((cand.logits + gumbel(seed, len(cand))).argmax())


class SameNoise(VllmSample):
    """Every draw has the noise of the first."""

    def apply(self, cand: Candidates) -> None:
        self.rng.seed(self.seed)
        super().apply(cand)


class SharesNumbers(VllmSample):
    """A clone draws from the generator of its original."""

    def clone(self) -> "SharesNumbers":
        twin = SharesNumbers(self.seed)
        twin.rng = self.rng
        return twin


class Halved(VllmLogprobs):
    """Probabilities of the logits halved: of temperature 2."""

    def apply(self, cand: Candidates) -> None:
        cand.p = softmax(cand.logits / 2)


class OfAll(VllmLogprobs):
    """Banned tokens keep a share."""

    def apply(self, cand: Candidates) -> None:
        cand.p = softmax(np.maximum(cand.logits, -1))


class NotNormalised(VllmLogprobs):
    """p is relative to the largest."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.p = cand.p / cand.p.max()


_GREEDY = "vllm_stages/temperature-zero-takes-no-filter"

MUTANTS = [
    Mutant("vllm_temperature/takes-small", TakesSmall, case="vllm_stages/temperature-raised"),
    Mutant("vllm_temperature/multiplies", Multiplies, case="vllm_stages/temperature"),
    Mutant("vllm_temperature/last-of-equal", LastOfEqual, case="vllm_stages/temperature-zero"),
    Mutant("vllm_min_p/bans-equal", BansEqual, case="vllm_stages/min_p-equal"),
    Mutant("vllm_min_p/of-one", OfOne, case="vllm_stages/min_p"),
    Mutant("vllm_min_p/filters-greedy", FiltersGreedyByP, case=_GREEDY),
    Mutant("vllm_top_k/exactly-k", ExactlyK, case="vllm_stages/top_k-ties"),
    Mutant("vllm_top_k/one-less", OneLess, case="vllm_stages/top_k"),
    Mutant("vllm_top_k/zero-is-one", ZeroIsOne, case="vllm_stages/top_k-off"),
    Mutant("vllm_top_p/below", Below, case="vllm_stages/top_p-exact"),
    Mutant("vllm_top_p/without-crossing", WithoutCrossing, case="vllm_stages/top_p"),
    Mutant("vllm_top_p/filters-greedy", FiltersGreedyByMass, case=_GREEDY),
    Mutant("vllm_sample/first-word", FirstWord, case="vllm_stages/draws/normal-V12-plain"),
    Mutant("vllm_sample/same-noise", SameNoise, case="vllm_stages/draws/normal-V12-plain"),
    Mutant("vllm_sample/shares-numbers", SharesNumbers, case="vllm_stages/draws/normal-V12-clone"),
    Mutant("vllm_logprobs/halved", Halved, case="vllm/penalties-repetition-over-both"),
    Mutant("vllm_logprobs/of-all", OfAll, case="vllm/penalties-zero-stays"),
    Mutant("vllm_logprobs/not-normalised", NotNormalised, case="vllm/penalties-repetition-over"),
]
