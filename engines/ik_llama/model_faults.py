"""The stages of ik_llama.cpp, wrong in one way each: faults that any stage may have, then those of
one stage. A simple stage has only the first kind."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.engines.ik_llama.model import STAGES, filters, temperature
from sampler_parity.engines.ik_llama.model.adaptive_p import IkAdaptiveP
from sampler_parity.engines.ik_llama.model.draws import IkMirostat, IkXtc, Token
from sampler_parity.engines.ik_llama.model.history import IkDry
from sampler_parity.engines.ik_llama.model.stateless import Stateless
from sampler_parity.engines.shared.repetition_penalties import RepetitionPenalties
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma

Apply = Callable[[Candidates], None]


def off(apply: Apply, cand: Candidates) -> None:
    """Do nothing."""


def drops_the_last(apply: Apply, cand: Candidates) -> None:
    """Drop the last remaining candidate, too."""
    apply(cand)
    cand.keep(slice(0, max(1, len(cand) - 1)))


def reverses(apply: Apply, cand: Candidates) -> None:
    """Reverse the order of the candidates."""
    apply(cand)
    cand.keep(slice(None, None, -1))


def selects_the_next(apply: Apply, cand: Candidates) -> None:
    """Select the candidate after the one drawn."""
    apply(cand)
    cand.selected = (cand.selected + 1) % len(cand)


def draws_twice(apply: Apply, cand: Candidates) -> None:
    """Apply the stage twice, to a copy first."""
    apply(cand.copy())
    apply(cand)


class Around:
    """A sampler with another `apply`."""

    def __init__(self, name: str, inner: Any, change: Callable[[Apply, Candidates], None]) -> None:
        self.name, self.inner, self.change = name, inner, change

    def apply(self, cand: Candidates) -> None:
        self.change(self.inner.apply, cand)

    def accept(self, token: int) -> None:
        self.inner.accept(token)

    def reset(self) -> None:
        self.inner.reset()

    def clone(self) -> "Around":
        return Around(self.name, self.inner.clone(), self.change)


def _anywhere(name: str, change: Callable[[Apply, Candidates], None]) -> Mutant:
    @functools.wraps(STAGES[name], updated=())
    def make(*values: Any, **of: Any) -> Around:
        return Around(name, STAGES[name](*values, **of), change)

    make.__doc__ = change.__doc__
    stem = "pen" if name.endswith("_penalties") else name.removeprefix("ik_llama_")
    case = f"ik_functions/{stem}"
    return Mutant(f"{name}/{change.__name__.replace('_', '-')}", make, case=case)


_DRAWS = [f"ik_llama_{name}" for name in ("token", "mirostat", "mirostat_v2", "adaptive_p")]


def bucket_sort_above_128(k: Any, min_keep: Any = 0) -> Stateless:
    """Sort as llama.cpp does, by buckets from 129 on."""
    today = TopK(k)
    return Stateless("ik_llama_top_k", today.apply)


def masks(n: Any) -> Stateless:
    """Mask with -inf instead of removing."""
    return Stateless("ik_llama_top_n_sigma", TopNSigma(n).apply)


def keeps_the_minimum(p: Any, min_keep: Any = 0) -> Stateless:
    """Take min_keep 0 for 1."""
    return filters.typical(p, max(1, min_keep))


def never_leaves_none(p: Any, min_keep: Any = 0) -> Stateless:
    """Keep one candidate whatever p is."""
    return filters.min_p(p, max(1, min_keep))


def keeps_the_largest(temp: Any) -> Stateless:
    """Take temperature 0 as greedy."""
    if temp > 0:
        return temperature.temp(temp)

    def change(cand: Candidates) -> None:
        cand.logits[np.arange(len(cand)) != floats.first_largest(cand.logits)] = -np.inf

    return Stateless("ik_llama_temp", change)


class TwoWords(Token):
    """A draw takes two words of the generator."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        self.rng.words(1)


class DropsTheLastTop(IkXtc):
    """The last of the top choices goes, too."""

    def apply(self, cand: Candidates) -> None:
        n = len(cand)
        super().apply(cand)
        if len(cand) < n:
            cand.keep(slice(1, None))


class KeepsOne(IkMirostat):
    """A k that is NaN keeps one candidate, as in llama.cpp."""

    def apply(self, cand: Candidates) -> None:
        Mirostat.apply(self, cand)


class StaysBanned(IkAdaptiveP):
    """A logit of -inf stays -inf."""

    def apply(self, cand: Candidates) -> None:
        banned = cand.logits == -np.inf
        super().apply(cand)
        cand.logits[banned] = -np.inf


class WindowOfThousands(IkDry):
    """-1 looks back 4,096 tokens, the context's size, not the vocabulary's."""

    def _window(self, last_n: int, context: int) -> int:
        return super()._window(last_n, 4096)


class PerOccurrence(RepetitionPenalties):
    """The penalty is applied once for every occurrence."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        for token, count in zip(*self.history.counts(), strict=True):
            for _ in range(count - 1):
                logit = cand.logits[token]
                times = self.penalty_repeat if logit <= 0 else 1 / self.penalty_repeat
                cand.logits[token] = logit * times


MUTANTS = [
    *(_anywhere(name, change) for name in STAGES for change in (off, reverses)),
    *(_anywhere(name, drops_the_last) for name in STAGES if name not in _DRAWS),
    *(_anywhere(name, change) for name in _DRAWS for change in (selects_the_next, draws_twice)),
    Mutant("ik_llama_top_k/buckets", bucket_sort_above_128, case="ik_functions/top_k-ties"),
    Mutant("ik_llama_top_n_sigma/masks", masks, case="ik_functions/top_n_sigma-removes"),
    Mutant("ik_llama_typical/min-keep", keeps_the_minimum, case="ik_functions/typical-min"),
    Mutant("ik_llama_min_p/keeps-one", never_leaves_none, case="ik_functions/min_p-above-one"),
    Mutant("ik_llama_temp/greedy", keeps_the_largest, case="ik_functions/temp-zero"),
    Mutant("ik_llama_token/two-words", TwoWords, case="ik_functions/token-float-sum"),
    Mutant("ik_llama_xtc/drops-the-last-top", DropsTheLastTop, case="ik_functions/xtc-certain"),
    Mutant("ik_llama_mirostat/keeps-one", KeepsOne, case="ik_functions/mirostat-two-equal"),
    Mutant("ik_llama_adaptive_p/stays-banned", StaysBanned, case="ik_functions/adaptive_p-rev"),
    Mutant("ik_llama_dry/window", WindowOfThousands, case="ik_functions/dry-looks-back"),
    Mutant("ik_llama_repetition_penalties/per-occurrence", PerOccurrence, case="ik_functions/pen"),
]
