"""The stages of SGLang, wrong in one way each."""

import numpy as np

from sampler_parity.engines.sglang.model.penalties import SglangPenalties
from sampler_parity.engines.sglang.model.sample import SglangSample
from sampler_parity.engines.shared.torch_cpu import cumsum
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.floats import FloatArray


class PromptCounts(SglangPenalties):
    """The prompt is penalized, too."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class FactorFirst(SglangPenalties):
    """The repetition penalty comes before the additions."""

    def apply(self, cand: Candidates) -> None:
        factor = SglangPenalties(len(cand), repetition_penalty=float(self.repetition_penalty))
        rest = self.clone()
        rest.repetition_penalty = np.float32(1)
        factor.past = self.past
        factor.apply(cand)
        SglangPenalties.apply(rest, cand)


class OneTokenEarly(SglangPenalties):
    """The stop ids are free one token too early."""

    def apply(self, cand: Candidates) -> None:
        whole, self.min_new_tokens = self.min_new_tokens, max(0, self.min_new_tokens - 1)
        super().apply(cand)
        self.min_new_tokens = whole


class AtTheMass(SglangSample):
    """A token with exactly top_p before it goes."""

    def filtered(self, p: FloatArray) -> FloatArray:
        rest = super().filtered(p)
        rest[cumsum(p) - p >= np.float32(self.top_p)] = 0
        return rest


class OfWhatIsLeft(SglangSample):
    """top_p counts within the survivors of top_k."""

    def filtered(self, p: FloatArray) -> FloatArray:
        rest = p.copy()
        if self.top_k > 0:
            rest[self.top_k :] = 0
        share = rest / rest.sum()
        rest[cumsum(share) - share > np.float32(self.top_p)] = 0
        return rest


class SamePosition(SglangSample):
    """Every draw is at the first position."""

    def apply(self, cand: Candidates) -> None:
        self.position = 0
        super().apply(cand)


class LastOfEqual(SglangSample):
    """Greedy takes the last of the largest."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.top_k == 1:
            cand.selected = len(cand) - 1 - int(cand.logits[::-1].argmax())


MUTANTS = [
    Mutant("sglang_penalties/prompt-counts", PromptCounts, case="sglang_penalties/prompt-counts"),
    Mutant("sglang_penalties/factor-first", FactorFirst, case="sglang_penalties/added-before"),
    Mutant("sglang_penalties/one-token-early", OneTokenEarly, case="sglang_penalties/minimum-last"),
    Mutant("sglang_sample/at-the-mass", AtTheMass, case="sglang_sample/top_p-equal"),
    Mutant("sglang_sample/of-what-is-left", OfWhatIsLeft, case="sglang_sample/top_p-of-the-whole"),
    Mutant("sglang_sample/same-position", SamePosition, case="sglang_sample/draws"),
    Mutant("sglang_sample/last-of-equal", LastOfEqual, case="sglang_sample/temperature-zero"),
]
