"""The stages of MLX LM, wrong in one way each."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.mlx_lm.model import MlxPenalties, MlxSampler, filters
from sampler_parity.engines.mlx_lm.model.arithmetic import exp
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.floats import FloatArray


class NoneForZero(MlxPenalties):
    """A context size of 0 is no token, as in llama.cpp."""

    def window(self, length: int) -> NDArray[np.int64]:
        return super().window(length) if length else np.array([], np.int64)


class InOneProduct(MlxPenalties):
    """The frequency penalty is multiplied by the count, as in llama.cpp: another last bit."""

    def apply(self, cand: Candidates) -> None:
        each, self.frequency_penalty = self.frequency_penalty, 0.0
        super().apply(cand)
        self.frequency_penalty = each
        seen, count = np.unique(self.window(self.frequency_window), return_counts=True)
        cand.logits[seen] -= np.float32(each) * count.astype(np.float32)


class OneWindow(MlxPenalties):
    """All three penalties have the window of repetition."""

    def apply(self, cand: Candidates) -> None:
        self.presence_window = self.frequency_window = self.repetition_window
        super().apply(cand)


class DividesNegative(MlxPenalties):
    """A negative logit is divided, too, and rises."""

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "MLX LM")
        seen = np.unique(self.window(self.repetition_window))
        if self.repetition_penalty != 0:
            penalty = np.float32(self.repetition_penalty)
            cand.logits[seen] = np.where(
                cand.logits[seen] < 0,
                cand.logits[seen] / penalty / penalty,
                cand.logits[seen],
            )
        super().apply(cand)


class LogitsAsTheyAre(MlxSampler):
    """Logits are handed to the filters, not log-probabilities."""

    def apply(self, cand: Candidates) -> None:
        logits = cand.logits.copy()
        super().apply(cand)
        cand.logits = np.where(cand.logits == -np.inf, cand.logits, logits)


class TopKFirst(MlxSampler):
    """top-k stands in front of the other filters, as in llama.cpp."""

    def filtered(self, logits: FloatArray) -> FloatArray:
        k, self.top_k = self.top_k, 0
        first = filters.top_k(logits, k) if 0 < k < len(logits) else logits
        result = super().filtered(first)
        self.top_k = k
        return result


class TopPZero(MlxSampler):
    """top_p 0 leaves the likeliest token, as in llama.cpp."""

    def filtered(self, logits: FloatArray) -> FloatArray:
        if self.top_p == 0:
            return np.asarray(np.where(logits == logits.max(), logits, np.float32(-np.inf)))
        return super().filtered(logits)


class GreedyBelowZero(MlxSampler):
    """A temperature below 0 is greedy, as in llama.cpp."""

    def draw(self, logits: FloatArray) -> int:
        return int(logits.argmax()) if self.temp < 0 else super().draw(logits)


class SumsInDouble(MlxSampler):
    """The sums of a draw are double: tokens that float32 swallows come up."""

    def draw(self, logits: FloatArray) -> int:
        if self.temp < 0:
            return super().draw(logits)
        scaled = logits * np.float32(1.0 / self.temp)
        sums = np.cumsum(exp(scaled - scaled.max()), dtype=np.float64)
        place = float(self.keys.uniforms(1)[0]) * sums[-1]
        return int(np.searchsorted(sums, place, side="right"))


class XtcWithoutDraw(MlxSampler):
    """XTC draws no number if it acts at every step, so the token's number is another."""

    def xtc_acts(self) -> bool:
        return True if self.xtc_probability == 1 else super().xtc_acts()


class SharedKey(MlxSampler):
    """A clone begins its random numbers anew."""

    def clone(self) -> "SharedKey":
        twin = super().clone()
        twin.reset()
        twin.__class__ = SharedKey
        return twin  # type: ignore[return-value]


MUTANTS = [
    Mutant("mlx_penalties/none-for-zero", NoneForZero, case="penalties/window-of-zero-is-all"),
    Mutant("mlx_penalties/in-one-product", InOneProduct, case="penalties/frequency-again"),
    Mutant("mlx_penalties/one-window", OneWindow, case="penalties/windows-of-their-own"),
    Mutant("mlx_penalties/divides-negative", DividesNegative, case="penalties/repetition-once"),
    Mutant("mlx_sampler/logits-as-they-are", LogitsAsTheyAre, case="sampler/log-probabilities"),
    Mutant("mlx_sampler/top_k-first", TopKFirst, case="sampler/xtc-before-top_k"),
    Mutant("mlx_sampler/top_p-zero", TopPZero, case="sampler/top_p-zero-is-off"),
    Mutant("mlx_sampler/greedy-below-zero", GreedyBelowZero, case="sampler/negative-temperature"),
    Mutant("mlx_sampler/sums-in-double", SumsInDouble, case="sampler/swallowed"),
    Mutant("mlx_sampler/xtc-without-draw", XtcWithoutDraw, case="sampler/xtc-draws-first"),
    Mutant("mlx_sampler/shared-key", SharedKey, case="sampler/filters/normal-V129-s0-clone-plain"),
]
