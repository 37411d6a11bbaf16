"""Chains in which a stage looks at other candidates than those that the one before it left."""

from typing import Any, Self

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, Chain, Sampler, floats
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_p import TopP


class _Around:
    """A stage in place of another, which it asks."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.name = inner, inner.name

    def accept(self, token: int) -> None:
        self.inner.accept(token)

    def reset(self) -> None:
        self.inner.reset()

    def clone(self) -> Self:
        return type(self)(self.inner.clone())


class _Watched(_Around):
    """It keeps what it was given."""

    given: Candidates | None = None

    def apply(self, cand: Candidates) -> None:
        self.given = cand.copy()
        self.inner.apply(cand)


class _Watching(Chain):
    """Each sampler of a kind is told of the first stage of that name in front of it."""

    kind: type
    name_before = ""  # any

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__(list(samplers))
        for at, sampler in enumerate(self.samplers):
            before = [i for i in range(at) if self.name_before in self.samplers[i].name]
            if not isinstance(sampler, self.kind.__mro__[1]) or not before:
                continue
            first = self.samplers[before[0]]
            watched = first if isinstance(first, _Watched) else _Watched(first)
            self.samplers[before[0]] = watched
            sampler.__class__ = self.kind
            sampler.watched = watched  # type: ignore[attr-defined]


class _OfAll(TopP):
    watched: _Watched

    def _cut(self, p: floats.FloatArray) -> int | None:
        assert self.watched.given is not None
        whole = self.watched.given.copy()
        whole.softmax(sort=False)
        n = super()._cut(np.sort(whole.p)[::-1])
        return None if n is None else min(n, len(p))


class TopPOfAll(_Watching):
    """top_p measures the mass of all that top_k was given: what both keep stays."""

    kind, name_before = _OfAll, "top_k"


class _RecordsOfAll(AdaptiveP):
    watched: _Watched

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        assert self.watched.given is not None
        whole = self.watched.given.copy()
        whole.softmax(sort=False)
        order = np.argsort(cand.ids)
        self.original_p[order] = whole.p[whole.positions(cand.ids[order])]


class AdaptivePOfAll(_Watching):
    """adaptive_p remembers p among all tokens, not among those that the filters left."""

    kind = _RecordsOfAll


class _OnlyAccepts(_Around):
    """It changes nothing."""

    def apply(self, cand: Candidates) -> None:
        pass


def greedy_goes_first(samplers: list[Sampler]) -> Chain:
    """Where greedy or a temperature of 0 selects, the penalties are left out."""
    greedy = any(isinstance(s, Greedy) or (isinstance(s, Temp) and s.temp <= 0) for s in samplers)
    return Chain([_OnlyAccepts(s) if greedy and isinstance(s, Penalties) else s for s in samplers])


MUTANTS = [
    Mutant(
        "chain/top-p-of-all",
        TopPOfAll,
        "bug zoo 11, FI #2120",
        at="top_p",
        case="top_p/renormalized-after-top-k",
    ),
    Mutant("chain/adaptive-p-of-all", AdaptivePOfAll, "bug zoo 53, IK #1161", at="adaptive_p"),
    Mutant(
        "chain/greedy-goes-first",
        greedy_goes_first,
        "bug zoo 45, LCP #878",
        at="penalties",
        case="penalties/alone/",
    ),
]
