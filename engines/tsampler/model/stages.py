"""tsampler as stages of a chain, so that the harness can compare it step by step.

`tsampler` is sampleWithStrategy whole: it selects a token and leaves the candidates as they are.
`tsampler_penalties`, `tsampler_top_k`, ... `tsampler_sample` are its functions one by one; in the
documented order they select the same token from the same random numbers. Parameters have
llama.cpp's names; penalty_last_n is the window of the TokenHistoryTracker. Numbers stay double, as
JavaScript holds them: 0.95 is not rounded to float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.tsampler.model import filters, sample
from sampler_parity.engines.tsampler.model.history import (
    PenaltyParams,
    TokenHistoryTracker,
    apply_penalties,
)
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import int32, integer, size
from sampler_parity.reference.sampler import Stateless

_SAFE_INTEGER = 2**53 - 1


def _double(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ChainError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def _seed(value: Any) -> int:
    return integer("seed", value, -_SAFE_INTEGER, _SAFE_INTEGER)


def _repeat(value: Any) -> float:
    number = _double("penalty_repeat", value)
    if number <= 0:
        raise ChainError(f"penalty_repeat must be greater than 0, got {value!r}")
    return number


def enter(cand: Candidates) -> None:
    """Make a set of the whole vocabulary, unless a filter has made one before."""
    if not cand.p.any():
        cand.logits = np.where(np.isnan(cand.logits), np.float32(-np.inf), cand.logits)
        filters.softmax(cand)


class Filter:
    """A function of the candidates alone."""

    def __init__(self, name: str, change: Callable[[Candidates], None]) -> None:
        self.name = name
        self.change = change

    def apply(self, cand: Candidates) -> None:
        enter(cand)
        self.change(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "Filter":
        return self


def top_k(k: Any) -> Filter:
    count = int32("k", k)
    return Filter("tsampler_top_k", lambda cand: filters.top_k(cand, count))


def typical_p(p: Any, min_keep: Any = 1) -> Filter:
    threshold, keep = _double("p", p), size("min_keep", min_keep)
    return Filter("tsampler_typical_p", lambda cand: filters.typical_p(cand, threshold, keep))


def top_p(p: Any) -> Filter:
    threshold = _double("p", p)
    return Filter("tsampler_top_p", lambda cand: filters.top_p(cand, threshold))


def min_p(p: Any) -> Filter:
    threshold = _double("p", p)
    return Filter("tsampler_min_p", lambda cand: filters.min_p(cand, threshold))


def top_n_sigma(n: Any) -> Filter:
    width = _double("n", n)
    return Filter("tsampler_top_n_sigma", lambda cand: filters.top_n_sigma(cand, width))


def temp(temp: Any) -> Filter:
    value = _double("temp", temp)
    if value <= 0:
        raise ChainError(f"temp must be greater than 0, got {temp!r}")
    return Filter("tsampler_temp", lambda cand: filters.temperature(cand, value))


class Greedy(Stateless):
    """The first largest logit of the whole vocabulary."""

    name = "tsampler_greedy"

    def apply(self, cand: Candidates) -> None:
        cand.selected = sample.greedy(cand.logits)


class Penalties(Copied):
    """applyPenalties, in place, on the whole vocabulary."""

    name = "tsampler_penalties"

    def __init__(
        self,
        penalty_last_n: Any,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        self.last_n = int32("penalty_last_n", penalty_last_n)
        self.history = TokenHistoryTracker(self.last_n)
        self.params = PenaltyParams(
            _repeat(penalty_repeat),
            _double("penalty_freq", penalty_freq),
            _double("penalty_present", penalty_present),
        )

    def apply(self, cand: Candidates) -> None:
        logits = cand.logits.copy()
        if self.params.any:
            apply_penalties(logits, self.history, self.params)
        cand.logits = logits

    def accept(self, token: int) -> None:
        self.history.accept(token)

    def reset(self) -> None:
        self.history.reset()


class Sample(Copied):
    """sampleFromSet with a Xoroshiro128+ of its own."""

    name = "tsampler_sample"

    def __init__(self, seed: Any) -> None:
        self.seed = _seed(seed)
        self.rng = Xoroshiro128Plus(self.seed)

    def apply(self, cand: Candidates) -> None:
        enter(cand)
        _draw(lambda: filters.sample_from_set(cand, self.rng.uniform_double()))

    def reset(self) -> None:
        self.rng = Xoroshiro128Plus(self.seed)


class Strategy(Copied):
    """sampleWithStrategy; the default values are the documented ones."""

    name = "tsampler"

    def __init__(
        self,
        seed: Any,
        mode: Any = "fast",
        top_k: Any = 40,
        top_p: Any = 0.95,
        min_p: Any = 0.05,
        typical_p: Any = 1.0,
        top_n_sigma: Any = -1.0,
        temp: Any = 0.8,
        penalty_last_n: Any = 64,
        penalty_repeat: Any = 1.1,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
    ) -> None:
        if mode not in ("fast", "parity"):
            raise ChainError(f"mode must be 'fast' or 'parity', got {mode!r}")
        self.mode: sample.Mode = mode
        self.params = sample.SamplingParams(
            top_k=int32("top_k", top_k),
            top_p=_double("top_p", top_p),
            min_p=_double("min_p", min_p),
            typical_p=_double("typical_p", typical_p),
            top_n_sigma=_double("top_n_sigma", top_n_sigma),
            temp=_double("temp", temp),
            penalty_repeat=_repeat(penalty_repeat),
            penalty_freq=_double("penalty_freq", penalty_freq),
            penalty_present=_double("penalty_present", penalty_present),
        )
        self.history = TokenHistoryTracker(int32("penalty_last_n", penalty_last_n))
        self.seed = _seed(seed)
        self.rng = Xoroshiro128Plus(self.seed)

    def apply(self, cand: Candidates) -> None:
        cand.selected = _draw(
            lambda: sample.sample_with_strategy(
                cand.logits, self.history, self.rng, self.params, self.mode
            )
        )

    def accept(self, token: int) -> None:
        self.history.accept(token)

    def reset(self) -> None:
        self.history.reset()
        self.rng = Xoroshiro128Plus(self.seed)


def _draw(draw: Callable[[], int]) -> int:
    try:
        return draw()
    except ValueError as error:
        raise UndefinedInputError(str(error)) from None


STAGES: dict[str, Callable[..., Any]] = {
    "tsampler": Strategy,
    "tsampler_penalties": Penalties,
    "tsampler_top_k": top_k,
    "tsampler_typical_p": typical_p,
    "tsampler_top_p": top_p,
    "tsampler_min_p": min_p,
    "tsampler_top_n_sigma": top_n_sigma,
    "tsampler_temp": temp,
    "tsampler_greedy": Greedy,
    "tsampler_sample": Sample,
}
