"""Faults that every stage of ik_llama.cpp may have; model_faults.toml has those of one stage."""

import functools
from collections.abc import Callable
from typing import Any

from sampler_parity.engines.ik_llama.model import STAGES
from sampler_parity.harness.faults.patch import Mutant
from sampler_parity.reference import Candidates

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


MUTANTS = [
    *(_anywhere(name, change) for name in STAGES for change in (off, reverses)),
    *(_anywhere(name, drops_the_last) for name in STAGES if name not in _DRAWS),
    *(_anywhere(name, change) for name in _DRAWS for change in (selects_the_next, draws_twice)),
]
