"""tsampler, wrong in one way each: the Python reference of it, stage by stage and whole."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sampler_parity.engines.tsampler.model import filters, sample, stages
from sampler_parity.engines.tsampler.model.history import (
    PenaltyParams,
    TokenHistoryTracker,
)
from sampler_parity.engines.tsampler.model.stages import Filter
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats


def _filter(name: str, change: Callable[[Candidates], None]) -> Filter:
    return Filter(f"tsampler_{name}", change)


def ties_by_highest_id(k: Any) -> Filter:
    """Keep the higher ids of equal logits."""

    def change(cand: Candidates) -> None:
        if 0 < k < len(cand):
            cand.keep(np.lexsort((-cand.ids, -cand.logits))[:k])
        filters.softmax(cand)

    return _filter("top_k", change)


def ascending(k: Any) -> Filter:
    """Read the heap backwards: ascending order."""

    def change(cand: Candidates) -> None:
        filters.top_k(cand, k)
        if k > 0:
            cand.keep(slice(None, None, -1))

    return _filter("top_k", change)


def probabilities_of_the_vocabulary(k: Any) -> Filter:
    """Keep the p of the whole vocabulary."""

    def change(cand: Candidates) -> None:
        survivors = cand.copy()
        filters.top_k(survivors, k)
        cand.keep(survivors.ids)

    return _filter("top_k", change)


def all_sorted(k: Any) -> Filter:
    """Sort the vocabulary if k equals its size."""

    def change(cand: Candidates) -> None:
        if k >= len(cand):
            cand.keep(np.argsort(-cand.logits, kind="stable"))
        filters.top_k(cand, k)

    return _filter("top_k", change)


def exceeds_instead_of_reaches(p: Any) -> Filter:
    """Require that the mass exceeds p."""

    def change(cand: Candidates) -> None:
        filters.top_p(cand, float(np.nextafter(p, 2)) if 0 < p < 1 else p)

    return _filter("top_p", change)


def zero_keeps_index_zero(p: Any) -> Filter:
    """Keep the first candidate at p <= 0."""

    def change(cand: Candidates) -> None:
        cand.keep(slice(1)) if p <= 0 else filters.top_p(cand, p)

    return _filter("top_p", change)


def mass_in_float(p: Any) -> Filter:
    """Round the threshold to float32."""
    return _filter("top_p", lambda cand: filters.top_p(cand, float(np.float32(p))))


def stale_mass(p: Any) -> Filter:
    """Cut the set without normalizing it first."""

    def change(cand: Candidates) -> None:
        if p < 1:
            cand.keep(np.argsort(-cand.logits, kind="stable"))
            enough = floats.running_sum(cand.p.astype(np.float64)) >= p
            cand.keep(slice(int(enough.argmax()) + 1) if enough.any() else slice(None))

    return _filter("top_p", change)


def passes_above_only(p: Any) -> Filter:
    """Use > instead of >=: the threshold itself goes."""

    def change(cand: Candidates) -> None:
        if p > 0:
            passing = cand.p > cand.p.max() * p
            passing[int(cand.p.argmax())] = True
            cand.keep(np.flatnonzero(passing))

    return _filter("min_p", change)


def absolute_threshold(p: Any) -> Filter:
    """Use p itself as the threshold, not p times the largest probability."""

    def change(cand: Candidates) -> None:
        if p > 0:
            passing = cand.p >= p
            passing[int(cand.p.argmax())] = True
            cand.keep(np.flatnonzero(passing))

    return _filter("min_p", change)


def argmax_may_go(p: Any) -> Filter:
    """Keep the first candidate, not the likeliest, above 1."""

    def change(cand: Candidates) -> None:
        cand.keep(slice(1)) if p > 1 else filters.min_p(cand, p)

    return _filter("min_p", change)


def banned_token_makes_nan(p: Any, min_keep: Any = 1) -> Filter:
    """Let 0 times log 0 enter the entropy, as in llama.cpp."""

    def change(cand: Candidates) -> None:
        if p < 1 and np.isneginf(cand.logits).any():
            cand.keep(slice(1))
        filters.typical_p(cand, p, min_keep)

    return _filter("typical_p", change)


def likeliest_instead_of_typical(p: Any, min_keep: Any = 1) -> Filter:
    """Order by probability."""
    return _filter("typical_p", lambda cand: filters.top_p(cand, p))


def typical_mass_reaches(p: Any, min_keep: Any = 1) -> Filter:
    """Stop when the mass reaches p."""

    def change(cand: Candidates) -> None:
        filters.typical_p(cand, float(np.nextafter(p, 0)) if p < 1 else p, min_keep)

    return _filter("typical_p", change)


def typical_min_keep_ignored(p: Any, min_keep: Any = 1) -> Filter:
    """Ignore min_keep."""
    return _filter("typical_p", lambda cand: filters.typical_p(cand, p, 1))


def sample_deviation(n: Any) -> Filter:
    """Divide by n - 1."""

    def change(cand: Candidates) -> None:
        valid = int(np.isfinite(cand.logits).sum())
        filters.top_n_sigma(cand, n * np.sqrt(valid / (valid - 1)) if valid > 1 else n)

    return _filter("top_n_sigma", change)


def no_deviation_keeps_all(n: Any) -> Filter:
    """Keep all equal logits, as in llama.cpp."""

    def change(cand: Candidates) -> None:
        if len(set(cand.logits.tolist())) > 1:
            filters.top_n_sigma(cand, n)

    return _filter("top_n_sigma", change)


def zero_is_greedy(n: Any) -> Filter:
    """Keep the largest logit alone at n = 0."""

    def change(cand: Candidates) -> None:
        if n == 0:
            cand.keep(slice(int(cand.logits.argmax()), int(cand.logits.argmax()) + 1))
        filters.top_n_sigma(cand, n)

    return _filter("top_n_sigma", change)


def multiplies(temp: Any) -> Filter:
    """Multiply by the temperature."""
    return _filter("temp", lambda cand: filters.temperature(cand, 1 / temp))


def probabilities_left(temp: Any) -> Filter:
    """Leave p as it is."""

    def change(cand: Candidates) -> None:
        p = cand.p
        filters.temperature(cand, temp)
        cand.p = p

    return _filter("temp", change)


def temperature_in_float(temp: Any) -> Filter:
    """Round the temperature to float32, as in llama.cpp."""
    return _filter("temp", lambda cand: filters.temperature(cand, float(np.float32(temp))))


class LastLargest(stages.Greedy):
    """The last of equal logits."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = len(cand) - 1 - int(cand.logits[::-1].argmax())


class AbsoluteLargest(stages.Greedy):
    """The largest by absolute value."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = int(abs(cand.logits).argmax())


class Smallest(stages.Greedy):
    """The smallest logit."""

    def apply(self, cand: Candidates) -> None:
        cand.selected = int(cand.logits.argmin())


class _Adjusted(stages.Penalties):
    def adjusted(self, logit: float, count: int, params: PenaltyParams) -> float:
        raise NotImplementedError

    def apply(self, cand: Candidates) -> None:
        cand.logits = cand.logits.copy()
        for token in self.history.unique_tokens():
            if 0 <= token < len(cand):
                count = self.history.get_count(token)
                value = self.adjusted(float(cand.logits[token]), count, self.params)
                cand.logits[token] = np.float32(value)


class PerOccurrence(_Adjusted):
    """The factor is applied for every occurrence."""

    def adjusted(self, logit: float, count: int, params: PenaltyParams) -> float:
        factor = params.repeat**count
        logit = logit * factor if logit <= 0 else logit / factor
        return logit - count * params.freq - params.present


class AlwaysDivides(_Adjusted):
    """Negative logits are divided, too."""

    def adjusted(self, logit: float, count: int, params: PenaltyParams) -> float:
        return logit / params.repeat - count * params.freq - params.present


class FrequencyFirst(_Adjusted):
    """Frequency and presence before repetition."""

    def adjusted(self, logit: float, count: int, params: PenaltyParams) -> float:
        logit = logit - count * params.freq - params.present
        return logit * params.repeat if logit <= 0 else logit / params.repeat


class WindowOneMore(stages.Penalties):
    """The window is one token longer."""

    def accept(self, token: int) -> None:
        if not self.history.size():
            self.history = TokenHistoryTracker(self.last_n + 1)
        super().accept(token)


class HistoryNotReset(stages.Strategy):
    """reset forgets to empty the history."""

    def reset(self) -> None:
        self.rng = Xoroshiro128Plus(self.seed)


class GeneratorNotReset(stages.Strategy):
    """reset does not put the generator back."""

    def reset(self) -> None:
        self.history.reset()


class CloneRestarts(stages.Strategy):
    """A clone starts from the seed."""

    def clone(self) -> "CloneRestarts":
        twin = super().clone()
        twin.rng = Xoroshiro128Plus(self.seed)
        return twin


class GreedyAtTheLimit(stages.Strategy):
    """Temperature 0.001 is greedy, too."""

    def apply(self, cand: Candidates) -> None:
        if self.params.temp == sample.GREEDY_BELOW:
            cand.selected = sample.greedy(cand.logits)
        else:
            super().apply(cand)


class GreedyForgetsPenalties(stages.Strategy):
    """The greedy path takes the logits as they are."""

    def apply(self, cand: Candidates) -> None:
        if self.params.is_greedy:
            cand.selected = sample.greedy(cand.logits)
        else:
            super().apply(cand)


class DrawsTwice(stages.Strategy):
    """Every draw uses up two random numbers."""

    def apply(self, cand: Candidates) -> None:
        self.rng.uniform_double()
        super().apply(cand)


class TemperatureFirst(stages.Strategy):
    """Temperature before the filters."""

    def apply(self, cand: Candidates) -> None:
        if self.params.is_greedy:
            super().apply(cand)
            return
        warm = Candidates.from_logits(sample.penalized(cand.logits, self.history, self.params))
        filters.temperature(warm, self.params.temp)
        params = replace(self.params, temp=1.0, penalty_repeat=1.0, penalty_freq=0.0)
        params = replace(params, penalty_present=0.0)
        cand.selected = sample.sample_with_strategy(
            warm.logits, self.history, self.rng, params, self.mode
        )


class AlwaysFast(stages.Strategy):
    """parity mode cuts to 256, too."""

    def apply(self, cand: Candidates) -> None:
        self.mode = "fast"
        super().apply(cand)


class _Drawing(stages.Sample):
    def uniform(self) -> float:
        return self.rng.uniform_double()

    def apply(self, cand: Candidates) -> None:
        stages.enter(cand)
        filters.sample_from_set(cand, self.uniform())


class NotRenormalized(_Drawing):
    """The uniform number is not scaled to the mass that is left."""

    def apply(self, cand: Candidates) -> None:
        stages.enter(cand)
        above = floats.running_sum(cand.p.astype(np.float64)) > self.uniform()
        cand.selected = int(above.argmax()) if above.any() else len(cand) - 1


class Bits24(_Drawing):
    """Uniform numbers of 24 bits."""

    def uniform(self) -> float:
        return (self.rng.word() >> 40) * 2.0**-24


class OlderRotations(_Drawing):
    """The generator of 2016, with rotations 55, 14, 36."""

    def uniform(self) -> float:
        s0, s1 = self.rng._s0, self.rng._s1
        value = (s0 + s1) % 2**64
        s1 ^= s0
        turned = ((s0 << 55) | (s0 >> 9)) % 2**64
        self.rng._s0 = turned ^ s1 ^ ((s1 << 14) % 2**64)
        self.rng._s1 = ((s1 << 36) | (s1 >> 28)) % 2**64
        return (value >> 11) * 2.0**-53


class StateNotReset(_Drawing):
    """reset leaves the generator where it is."""

    def reset(self) -> None:
        pass


def _mutant(stage: str, fault: str, make: Callable[..., Any], case: str = "") -> Mutant:
    return Mutant(f"{stage}/{fault}", make, case=case)


MUTANTS = [
    _mutant("tsampler_top_k", "ties-by-highest-id", ties_by_highest_id, "filters/top_k-ties-by-id"),
    _mutant("tsampler_top_k", "ascending", ascending, "filters/top_k-keeps-the-largest"),
    _mutant(
        "tsampler_top_k",
        "p-of-the-vocabulary",
        probabilities_of_the_vocabulary,
        "filters/top_k-keeps-the-largest",
    ),
    _mutant("tsampler_top_k", "all-sorted", all_sorted, "filters/top_k-of-all"),
    _mutant("tsampler_top_p", "exceeds", exceeds_instead_of_reaches, "filters/top_p-mass-equal"),
    _mutant("tsampler_top_p", "zero-keeps-index-0", zero_keeps_index_zero, "filters/top_p-zero"),
    _mutant("tsampler_top_p", "threshold-in-float", mass_in_float, "filters/top_p-mass-just"),
    _mutant("tsampler_top_p", "stale-mass", stale_mass, "strategy/stages/zipf-V129-plain-all"),
    _mutant("tsampler_min_p", "passes-above-only", passes_above_only, "filters/min_p-threshold"),
    _mutant(
        "tsampler_min_p",
        "absolute-threshold",
        absolute_threshold,
        "filters/min_p-threshold-is-kept",
    ),
    _mutant("tsampler_min_p", "argmax-may-go", argmax_may_go, "filters/min_p-above-one"),
    _mutant(
        "tsampler_typical_p", "banned-token", banned_token_makes_nan, "filters/typical_p-leaves"
    ),
    _mutant(
        "tsampler_typical_p",
        "by-probability",
        likeliest_instead_of_typical,
        "filters/typical_p-orders-by-surprise",
    ),
    _mutant(
        "tsampler_typical_p", "mass-reaches", typical_mass_reaches, "filters/typical_p-mass-must"
    ),
    _mutant(
        "tsampler_typical_p",
        "min-keep-ignored",
        typical_min_keep_ignored,
        "filters/matrix/peaked-V2-typical_p",
    ),
    _mutant(
        "tsampler_top_n_sigma",
        "sample-deviation",
        sample_deviation,
        "filters/matrix/normal-V2-top_n_sigma",
    ),
    _mutant(
        "tsampler_top_n_sigma",
        "equal-logits-stay",
        no_deviation_keeps_all,
        "filters/top_n_sigma-without-deviation-keeps-one",
    ),
    _mutant("tsampler_top_n_sigma", "zero-is-greedy", zero_is_greedy, "filters/top_n_sigma-zero"),
    _mutant("tsampler_temp", "multiplies", multiplies, "filters/temp-after"),
    _mutant("tsampler_temp", "p-left", probabilities_left, "filters/temp-after"),
    _mutant("tsampler_temp", "in-float", temperature_in_float, "filters/matrix/normal-V129-temp"),
    _mutant("tsampler_greedy", "last-largest", LastLargest, "filters/greedy-ties"),
    _mutant(
        "tsampler_greedy", "absolute", AbsoluteLargest, "filters/penalties-multiply-below-zero"
    ),
    _mutant("tsampler_greedy", "smallest", Smallest, "filters/greedy-ties-by-id"),
    _mutant(
        "tsampler_penalties", "per-occurrence", PerOccurrence, "filters/penalties-once-per-token"
    ),
    _mutant("tsampler_penalties", "always-divides", AlwaysDivides, "filters/penalties-multiply"),
    _mutant("tsampler_penalties", "frequency-first", FrequencyFirst, "filters/penalties-repeat"),
    _mutant("tsampler_penalties", "window-one-more", WindowOneMore, "filters/penalties-window"),
    _mutant("tsampler_sample", "not-renormalized", NotRenormalized, "filters/sample-renorm"),
    _mutant("tsampler_sample", "24-bits", Bits24, "filters/sample-uses-53-bits"),
    _mutant(
        "tsampler_sample", "older-rotations", OlderRotations, "filters/matrix/normal-V129-sample"
    ),
    _mutant(
        "tsampler_sample", "not-reset", StateNotReset, "strategy/stages/zipf-V129-reset-default"
    ),
    _mutant(
        "tsampler", "history-not-reset", HistoryNotReset, "strategy/whole/zipf-V257-reset-default"
    ),
    _mutant(
        "tsampler",
        "generator-not-reset",
        GeneratorNotReset,
        "strategy/whole/zipf-V257-reset-default",
    ),
    _mutant("tsampler", "clone-restarts", CloneRestarts, "strategy/whole/zipf-V257-clone-default"),
    _mutant("tsampler", "greedy-at-the-limit", GreedyAtTheLimit, "strategy/not-greedy"),
    _mutant("tsampler", "greedy-forgets", GreedyForgetsPenalties, "strategy/greedy-with-penalties"),
    _mutant("tsampler", "draws-twice", DrawsTwice, "strategy/fast-and-parity-part-without-top-k"),
    _mutant("tsampler", "temperature-first", TemperatureFirst, "strategy/temperature-does-not"),
    _mutant("tsampler", "always-fast", AlwaysFast, "strategy/golden/small-r0-parity"),
]
