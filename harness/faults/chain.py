"""Chains and pipelines, wrong in one way each: the samplers themselves are right."""

from collections import deque
from typing import Any

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, Chain, Sampler
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.temp_ext import TempExt
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP
from sampler_parity.reference.samplers.xtc import Xtc

_FILTERS = (TopK, TopP, MinP, TypicalP, TopNSigma, Xtc)


class ResetForgetsLast(Chain):
    """Reset does not reach the last stage."""

    def reset(self) -> None:
        for sampler in self.samplers[:-1]:
            sampler.reset()


class ResetForgetsFirst(Chain):
    """Reset does not reach the first stage."""

    def reset(self) -> None:
        for sampler in self.samplers[1:]:
            sampler.reset()


class ResetDoesNothing(Chain):
    """Reset does not reach any stage."""

    def reset(self) -> None:
        pass


class CloneSharesStages(Chain):
    """A clone holds the same samplers."""

    def clone(self) -> Chain:
        return type(self)(self.samplers)


class CloneIsReset(Chain):
    """A clone is in the state after construction."""

    def clone(self) -> Chain:
        twin = super().clone()
        twin.reset()
        return twin


class AcceptsTwice(Chain):
    """Every token is accepted twice."""

    def accept(self, token: int) -> None:
        super().accept(token)
        super().accept(token)


class AcceptsNoRepeat(Chain):
    """A token that was accepted before is not accepted again."""

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__(samplers)
        self.seen: set[int] = set()

    def accept(self, token: int) -> None:
        if token not in self.seen:
            super().accept(token)
        self.seen.add(token)


class AcceptSkipsLast(Chain):
    """Accept does not reach the last stage."""

    def accept(self, token: int) -> None:
        for sampler in self.samplers[:-1]:
            sampler.accept(token)


class AcceptsLate(Chain):
    """A token is accepted only when the next one comes."""

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__(samplers)
        self.waiting: deque[int] = deque()

    def accept(self, token: int) -> None:
        self.waiting.append(token)
        if len(self.waiting) > 1:
            super().accept(self.waiting.popleft())

    def clone(self) -> Chain:
        twin = type(self)([sampler.clone() for sampler in self.samplers])
        twin.waiting = self.waiting.copy()
        return twin


class Stages16(Chain):
    """A chain has room for 16 stages: a further one does nothing."""

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__([*samplers[:16], *(Temp(1.0) for _ in samplers[16:])])


def top_p_before_top_k(samplers: list[Sampler]) -> Chain:
    """top_p is measured before top_k has cut."""
    return Chain(_swapped(samplers, "top_k", "top_p"))


def temperature_first(samplers: list[Sampler]) -> Chain:
    """Temperature is moved in front of everything."""
    first = [s for s in samplers if isinstance(s, Temp | TempExt)]
    return Chain(first + [s for s in samplers if s not in first])


def temperature_last(samplers: list[Sampler]) -> Chain:
    """Temperature is moved behind everything."""
    return Chain(sorted(samplers, key=lambda s: isinstance(s, Temp | TempExt)))


def filters_last(samplers: list[Sampler]) -> Chain:
    """Temperature, bias and penalties are moved in front of the filters."""
    return Chain(sorted(samplers, key=lambda s: isinstance(s, _FILTERS)))


def bias_after_penalties(samplers: list[Sampler]) -> Chain:
    """The logit bias is added after the penalties."""
    return Chain(_swapped(samplers, "logit_bias", "penalties"))


def greedy_skips_penalties(samplers: list[Sampler]) -> Chain:
    """At temperature 0 penalties are left out, as a chain of greedy alone would."""
    greedy = any(isinstance(s, Temp) and s.temp <= 0 for s in samplers)
    return Chain([_Nothing(s) if greedy and isinstance(s, Penalties) else s for s in samplers])


class _Nothing:
    """Stands for a stage that is left out."""

    def __init__(self, left_out: Sampler) -> None:
        self.name = left_out.name

    def apply(self, cand: Candidates) -> None:
        pass

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> Any:
        return self


def _swapped(samplers: list[Sampler], a: str, b: str) -> list[Sampler]:
    """The first a and the first b change places, if a stands before b."""
    names = [sampler.name for sampler in samplers]
    out = list(samplers)
    if a in names and b in names and names.index(a) < names.index(b):
        i, j = names.index(a), names.index(b)
        out[i], out[j] = out[j], out[i]
    return out


MUTANTS = [
    Mutant("chain/16-stages", Stages16, at="temp", case="capacities/chain"),
    Mutant(
        "chain/reset-forgets-last",
        ResetForgetsLast,
        "bug zoo 54, LC #21594",
        at="dist",
        case="state/odd",
    ),
    Mutant(
        "chain/reset-forgets-first",
        ResetForgetsFirst,
        "bug zoo 54, LC #21594",
        "penalties",
        case="state/odd",
    ),
    Mutant(
        "chain/reset-does-nothing",
        ResetDoesNothing,
        "bug zoo 54, LC #21594",
        at="dist",
        case="state/odd",
    ),
    Mutant(
        "chain/clone-shares-stages",
        CloneSharesStages,
        "bug zoo 49, LC #3543",
        at="dist",
        case="state/odd",
    ),
    Mutant(
        "chain/clone-is-reset",
        CloneIsReset,
        "bug zoo 49, LC #3543",
        at="penalties",
        case="chains/random/",
    ),
    Mutant(
        "chain/accepts-twice",
        AcceptsTwice,
        "bug zoo 35, LC #8971",
        at="penalties",
        case="capacities/accepted/4096",
    ),
    Mutant(
        "chain/accepts-no-repeat",
        AcceptsNoRepeat,
        "bug zoo 32",
        at="penalties",
        case="capacities/accepted/4096",
    ),
    Mutant(
        "chain/accept-skips-last",
        AcceptSkipsLast,
        at="adaptive_p",
        case="adaptive_p/weight-moves-by-rounding",
    ),
    Mutant(
        "chain/accepts-late",
        AcceptsLate,
        "bug zoo 43, SG #1001",
        at="penalties",
        case="capacities/accepted/4096",
    ),
    Mutant(
        "chain/top-p-before-top-k",
        top_p_before_top_k,
        "bug zoo 10, VL #1885",
        at="top_k",
        case="chains/pairs-bpe/top_k+top_p-zipf-V303",
    ),
    Mutant(
        "chain/temperature-first",
        temperature_first,
        "bug zoo 22, LC #4091",
        at="top_p",
        case="chains/orders/top_p+temp-normal-V12",
    ),
    Mutant(
        "chain/temperature-last",
        temperature_last,
        at="temp",
        case="chains/orders/temp+top_p-normal-V12",
    ),
    Mutant(
        "chain/filters-last",
        filters_last,
        at="top_p",
        case="chains/orders/top_p+penalties-normal-V12",
    ),
    Mutant(
        "chain/bias-after-penalties",
        bias_after_penalties,
        "bug zoo 48",
        at="logit_bias",
        case="chains/pairs-bpe/logit_bias+penalties-zipf-V303",
    ),
    Mutant(
        "chain/greedy-skips-penalties",
        greedy_skips_penalties,
        "bug zoo 63",
        at="penalties",
        case="chains/pairs/penalties+temp_zero-ties-V129",
    ),
]
