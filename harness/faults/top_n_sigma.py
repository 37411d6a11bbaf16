"""top_n_sigma, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma


class Steps(TopNSigma):
    """top_n_sigma with each step a method, so that a fault replaces one of them."""

    masked: float = -np.inf

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.n <= 0 or len(cand) <= 1:
            return
        valid = self.valid(cand.logits)
        if len(valid) == 0:
            return
        top = floats.largest(np.append(cand.logits[0], valid))
        mean = floats.total(valid) / np.float32(len(valid))
        threshold = self.threshold(top, mean, self.deviation(valid, mean))
        low = self.below(cand.logits, threshold)
        cand.logits = np.where(low, np.float32(self.masked), cand.logits)

    def valid(self, logits: NDArray[Any]) -> NDArray[Any]:
        return logits[logits != -np.inf]  # type: ignore[no-any-return]

    def deviation(self, valid: NDArray[Any], mean: Any) -> Any:
        return np.sqrt(floats.total_of_squares(valid - mean) / np.float32(len(valid)))

    def threshold(self, top: Any, _mean: Any, deviation: Any) -> Any:
        return top - self.n * deviation

    def below(self, logits: NDArray[Any], threshold: Any) -> NDArray[np.bool_]:
        return logits < threshold  # type: ignore[no-any-return]


class CountsBanned(Steps):
    """-inf enters mean and deviation."""

    def valid(self, logits: NDArray[Any]) -> NDArray[Any]:
        return logits


class SampleDeviation(Steps):
    """The squares are divided by n - 1."""

    def deviation(self, valid: NDArray[Any], mean: Any) -> Any:
        return np.sqrt(floats.total_of_squares(valid - mean) / np.float32(len(valid) - 1))


class Variance(Steps):
    """The root is forgotten."""

    def deviation(self, valid: NDArray[Any], mean: Any) -> Any:
        return floats.total_of_squares(valid - mean) / np.float32(len(valid))


class FromTheMean(Steps):
    """The threshold lies n deviations above the mean."""

    def threshold(self, _top: Any, mean: Any, deviation: Any) -> Any:
        return mean + self.n * deviation


class ThresholdGoes(Steps):
    """A logit that equals the threshold goes."""

    def below(self, logits: NDArray[Any], threshold: Any) -> NDArray[np.bool_]:
        return logits <= threshold  # type: ignore[no-any-return]


class MasksWithAFiniteValue(Steps):
    """Masked logits become the lowest float, not -inf."""

    masked = float(np.finfo(np.float32).min)


class Removes(Steps):
    """Candidates are removed, not masked."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.n > 0 and len(cand) > 1:
            cand.keep(cand.logits != -np.inf)


class ZeroIsGreedy(Steps):
    """n = 0 keeps the largest logit only, as before it became a way to disable."""

    def apply(self, cand: Candidates) -> None:
        if self.n == 0 and len(cand) > 1:
            self.masked_below_top(cand)
        else:
            super().apply(cand)

    def masked_below_top(self, cand: Candidates) -> None:
        top = floats.largest(cand.logits)
        cand.logits = np.where(cand.logits < top, np.float32(-np.inf), cand.logits)


class NegativeIsOn(Steps):
    """A negative n puts the threshold above the largest logit and masks everything."""

    def apply(self, cand: Candidates) -> None:
        if self.n < 0 and len(cand) > 1:
            cand.logits = np.full_like(cand.logits, -np.inf)
        else:
            super().apply(cand)


class WritesProbabilities(Steps):
    """A softmax follows, as in earlier releases: it sorts and writes p."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.n > 0 and len(cand) > 1:
            cand.softmax(sort=True)


class IntegerN(Steps):
    """n is cut to an integer."""

    def threshold(self, top: Any, _mean: Any, deviation: Any) -> Any:
        return top - np.float32(int(self.n)) * deviation


MUTANTS = [
    Mutant(
        "top_n_sigma/counts-banned",
        CountsBanned,
        "bug zoo 21, LC #13344",
        case="top_n_sigma/masked-is-left-out",
    ),
    Mutant(
        "top_n_sigma/sample-deviation", SampleDeviation, case="top_n_sigma/population-deviation"
    ),
    Mutant("top_n_sigma/variance", Variance, case="top_n_sigma/masked-is-left-out"),
    Mutant("top_n_sigma/from-the-mean", FromTheMean),
    Mutant("top_n_sigma/threshold-goes", ThresholdGoes, case="top_n_sigma/on-the-threshold"),
    Mutant("top_n_sigma/masks-with-a-finite-value", MasksWithAFiniteValue),
    Mutant("top_n_sigma/removes", Removes),
    Mutant(
        "top_n_sigma/zero-is-greedy",
        ZeroIsGreedy,
        "ours: llama.cpp before PR 13345",
        case="top_n_sigma/zero-is-off",
    ),
    Mutant("top_n_sigma/negative-is-on", NegativeIsOn, case="top_n_sigma/negative-is-off"),
    Mutant("top_n_sigma/writes-probabilities", WritesProbabilities),
    Mutant("top_n_sigma/integer-n", IntegerN, case="top_n_sigma/edges/negative-n1.9999999"),
]
