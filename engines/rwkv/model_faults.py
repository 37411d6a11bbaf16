"""The stages of rwkv, wrong in one way each."""

import numpy as np

from sampler_parity.engines.rwkv.model import RwkvPenalties, RwkvSampleLogits
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.floats import FloatArray


class PromptCounts(RwkvPenalties):
    """The prompt is penalized, too."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class DecayBehind(RwkvPenalties):
    """The newest token's occurrence decays, too."""

    def occurrences(self) -> dict[int, float]:
        return {token: count * self.alpha_decay for token, count in super().occurrences().items()}


class WeightlessLeftOut(RwkvPenalties):
    """A weightless token has no presence, either."""

    def occurrences(self) -> dict[int, float]:
        return {t: c for t, c in super().occurrences().items() if t not in self.weightless}


class CutByPosition(RwkvSampleLogits):
    """top_p cuts by position, as in llama.cpp: of equal ones at the cut some go."""

    def weights(self, p: FloatArray) -> FloatArray:
        order = np.argsort(-p, kind="stable")
        n = int((np.cumsum(p[order]) >= np.float32(self.top_p)).argmax()) + 1
        cut = np.zeros_like(p)
        cut[order[:n]] = p[order[:n]]
        return np.asarray(cut / np.sum(cut))


class OneIsOff(RwkvSampleLogits):
    """top_p 1 removes nothing."""

    def weights(self, p: FloatArray) -> FloatArray:
        return p / np.sum(p) if self.top_p == 1 else super().weights(p)


class TemperatureFirst(RwkvSampleLogits):
    """The temperature stands in front of the filters."""

    def weights(self, p: FloatArray) -> FloatArray:
        temperature = self.temperature
        if temperature == 0:
            return super().weights(p)
        warm = p ** np.float32(1.0 / temperature)
        self.temperature = 1.0
        result = super().weights(np.asarray(warm / np.sum(warm)))
        self.temperature = temperature
        return result


class FirstOfEqual(RwkvSampleLogits):
    """Temperature 0 is the first of the largest."""

    def weights(self, p: FloatArray) -> FloatArray:
        result = super().weights(p)
        if self.temperature == 0:
            result = np.zeros_like(p)
            result[p.argmax()] = 1
        return result


MUTANTS = [
    Mutant("rwkv_penalties/prompt-counts", PromptCounts, case="penalties/prompt-counts-for"),
    Mutant("rwkv_penalties/decay-behind", DecayBehind, case="penalties/decay"),
    Mutant("rwkv_penalties/weightless-left-out", WeightlessLeftOut, case="penalties/weightless"),
    Mutant("rwkv_sample_logits/by-position", CutByPosition, case="sample_logits/top_p-keeps-ties"),
    Mutant("rwkv_sample_logits/one-is-off", OneIsOff, case="sample_logits/top_p-one"),
    Mutant(
        "rwkv_sample_logits/temp-first", TemperatureFirst, case="sample_logits/temperature-last"
    ),
    Mutant(
        "rwkv_sample_logits/first-of-equal", FirstOfEqual, case="sample_logits/temperature-zero"
    ),
]
