"""The stages of vLLM's second runner, wrong in one way each."""

import numpy as np

from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.engines.vllm_gpu.model import (
    VllmGpuLogprobs,
    VllmGpuMinP,
    VllmGpuSample,
    VllmGpuTopK,
    VllmGpuTopP,
)
from sampler_parity.engines.vllm_gpu.model.noise import gumbel
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.candidates import Candidates


class OfFirstBlock(VllmGpuLogprobs):
    """The sum is that of the first 1,024 tokens."""

    def apply(self, cand: Candidates) -> None:
        weights = np.exp(cand.logits - cand.logits.max())
        cand.p = weights / weights[:1024].sum()


class NotDivided(VllmGpuLogprobs):
    """The weights are not divided by their sum."""

    def apply(self, cand: Candidates) -> None:
        cand.p = np.exp(cand.logits - cand.logits.max())


class OfTemperatureTwo(VllmGpuLogprobs):
    """The logits are divided by 2 first."""

    def apply(self, cand: Candidates) -> None:
        cand.p = softmax(cand.logits / 2)


class BansEqual(VllmGpuMinP):
    """Logits that equal the threshold are banned."""

    def apply(self, cand: Candidates) -> None:
        if self.min_p > 0:
            cand.logits[cand.logits <= cand.logits.max() + np.log(self.min_p)] = -np.inf


class NoLogarithm(VllmGpuMinP):
    """min_p is added to the largest as it is, with a minus."""

    def apply(self, cand: Candidates) -> None:
        if self.min_p > 0:
            cand.logits[cand.logits < cand.logits.max() - self.min_p] = -np.inf


class OfLastBlock(VllmGpuMinP):
    """The largest is that of the last block of 1,024."""

    def apply(self, cand: Candidates) -> None:
        last = cand.logits[(len(cand) - 1) // 1024 * 1024 :]
        if self.min_p > 0:
            cand.logits[cand.logits < last.max() + np.log(self.min_p)] = -np.inf


class SamePosition(VllmGpuSample):
    """Every draw is at position 0."""

    def apply(self, cand: Candidates) -> None:
        if cand.selected < 0:
            cand.selected = int((cand.logits + gumbel(self.seed, 0, cand.ids)).argmax())


class SameBlock(VllmGpuSample):
    """Every block of 1,024 has the noise of the first."""

    def apply(self, cand: Candidates) -> None:
        if cand.selected < 0:
            noise = gumbel(self.seed, len(self.past.text) - 1, cand.ids % 1024)
            cand.selected = int((cand.logits + noise).argmax())


class NoNoise(VllmGpuSample):
    """The largest logit is selected."""

    def apply(self, cand: Candidates) -> None:
        if cand.selected < 0:
            cand.selected = int(cand.logits.argmax())


class KeepsTies(VllmGpuTopK):
    """All that equal the k-th stay."""

    def apply(self, cand: Candidates) -> None:
        if 0 < self.top_k < len(cand):
            cand.logits[cand.logits < np.sort(cand.logits)[-self.top_k]] = -np.inf


class LastOfEqual(VllmGpuTopK):
    """Of equal logits those with the highest ids stay."""

    def apply(self, cand: Candidates) -> None:
        cand.logits = cand.logits[::-1].copy()
        super().apply(cand)
        cand.logits = cand.logits[::-1].copy()


class OneMore(VllmGpuTopK):
    """One token too many stays."""

    def apply(self, cand: Candidates) -> None:
        VllmGpuTopK(self.top_k + 1 if self.top_k > 0 else self.top_k).apply(cand)


class WithoutCrossing(VllmGpuTopP):
    """The token that reaches top_p is banned."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        kept = np.flatnonzero(cand.logits > -np.inf)
        if len(kept) > 1 and not np.array_equal(before, cand.logits):
            cand.logits[kept[cand.logits[kept].argmin()]] = -np.inf


class OfRow(VllmGpuTopP):
    """The mass is that of all logits, the banned ones counted as the least likely."""

    def apply(self, cand: Candidates) -> None:
        finite = cand.logits > -np.inf
        share = softmax(np.where(finite, cand.logits, cand.logits[finite].min()))
        order = (-cand.logits).argsort(kind="stable")
        needed = int((share[order].cumsum() < self.top_p).sum()) + 1
        cand.logits[order[needed:]] = -np.inf


class KeepsEqual(VllmGpuTopP):
    """All that equal the token that reaches top_p stay."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        least = cand.logits[cand.logits > -np.inf].min()
        cand.logits = np.where(before >= least, before, -np.inf).astype(before.dtype)


_STAGES = "vllm_gpu_stages/"
MUTANTS = [
    Mutant("vllm_gpu_logprobs/of-first-block", OfFirstBlock, case=_STAGES + "logprobs"),
    Mutant("vllm_gpu_logprobs/not-divided", NotDivided, case=_STAGES + "logprobs"),
    Mutant("vllm_gpu_logprobs/of-temperature-two", OfTemperatureTwo, case=_STAGES + "logprobs"),
    Mutant("vllm_gpu_min_p/bans-equal", BansEqual, case=_STAGES + "min_p-one"),
    Mutant("vllm_gpu_min_p/no-logarithm", NoLogarithm, case=_STAGES + "min_p"),
    Mutant("vllm_gpu_min_p/of-last-block", OfLastBlock, case=_STAGES + "min_p"),
    Mutant("vllm_gpu_sample/same-position", SamePosition, case=_STAGES + "draws"),
    Mutant("vllm_gpu_sample/same-block", SameBlock, case=_STAGES + "draws"),
    Mutant("vllm_gpu_sample/no-noise", NoNoise, case=_STAGES + "draws"),
    Mutant("vllm_gpu_top_k/keeps-ties", KeepsTies, case=_STAGES + "top_k-ties"),
    Mutant("vllm_gpu_top_k/last-of-equal", LastOfEqual, case=_STAGES + "top_k-ties"),
    Mutant("vllm_gpu_top_k/one-more", OneMore, case=_STAGES + "top_k"),
    Mutant("vllm_gpu_top_p/without-crossing", WithoutCrossing, case=_STAGES + "top_p-crossing"),
    Mutant("vllm_gpu_top_p/of-row", OfRow, case=_STAGES + "top_k-then-top_p"),
    Mutant("vllm_gpu_top_p/keeps-equal", KeepsEqual, case=_STAGES + "top_p-ties"),
]
