"""What the judge of a sampler accepts of one stage, as sets and intervals that a program of sixty
lines decides by. The judge itself is asked; nothing of its bounds is written down again.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.stages.own_random import OneNumber
from sampler_parity.harness.correct.bounds import Interval
from sampler_parity.harness.correct.judges import judge_of
from sampler_parity.harness.correct.stage import Held, Stage, Wrong
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates

REMOVING = ("top_k", "top_p", "min_p", "typical_p", "xtc", "top_n_sigma")
CHANGING = ("temp", "temp_ext", "penalties", "dry", "logit_bias")
SELECTING = ("greedy", "dist")
STEERING = ("mirostat", "mirostat_v2", "adaptive_p")  # their state follows what they selected
MOST_ASKED = 64  # numbers of survivors on each side
AWAY = 1e-4  # a thousand roundings of float32


@dataclass(frozen=True)
class Input:
    """A stage before it is applied. sampler: of the reference, in its state; parameters: as the
    suite has them. want: what the reference leaves."""

    held: Held
    sampler: Any
    parameters: dict[str, Any]
    want: Candidates

    def judged(self, got: Got) -> Stage:
        """Return the stage after its judge. Raises Wrong."""
        stage = _Recorded(
            self.held, self.sampler.clone(), self.want, got, self.parameters, Arithmetic()
        )
        judge = judge_of(self.sampler.name)
        assert judge is not None
        with np.errstate(all="ignore"):
            judge(stage)
        return stage

    def accepts(self, got: Got) -> bool:
        try:
            self.judged(got)
        except Wrong:
            return False
        return True


@dataclass
class _Recorded(Stage):
    """A stage that remembers the intervals of its logits."""

    intervals: list[Interval] = field(default_factory=list)

    def logits_within(self, bounds: Interval) -> None:
        self.intervals.append(bounds)
        super().logits_within(bounds)


@dataclass(frozen=True)
class Accepted:
    """stay: ids that must survive; may: those that may, so that least <= survivors <= most. A logit
    of -inf is no survivor. low, high: the ends of each logit, of `stay`, then of `may`; None:
    unchanged. tokens: those that may be selected; alone: the rest of the result does not count."""

    stay: Sequence[int]
    may: Sequence[int] = ()
    least: int = 0
    most: int = 0
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    tokens: Sequence[int] = ()
    alone: bool = False


def accepted(of: Input) -> Accepted | None:
    """Return what is accepted of a stage; None if no sets and intervals describe it: NaN decides,
    or the order of nearly equal candidates does."""
    if len(of.held.ids) == 0 or not np.isfinite(of.held.logits.max()):
        return None
    if of.sampler.name in REMOVING:
        return _survivors(of)
    if of.sampler.name in CHANGING:
        return _values(of)
    return _selected(of) if of.sampler.name in SELECTING else None


def _got(of: Input, places: NDArray[np.intp]) -> Got:
    """Return the candidates at places, as the reference would leave them."""
    held, want = of.held, of.want
    p = held.p
    at = np.searchsorted(np.sort(held.ids), want.ids)
    before = held.p[np.argsort(held.ids, kind="stable")[at]]
    if not np.array_equal(before, want.p, equal_nan=True):
        exact = np.exp(held.logits.astype(np.float64) - float(held.logits.max()))
        p = (exact / exact.sum()).astype(np.float32)
    return Got(held.ids[places], held.logits[places], p[places], None, -1)


def _survivors(of: Input) -> Accepted | None:
    """Ask for prefixes of the order in which candidates survive."""
    held, want = of.held, of.want
    stays = want.ids[want.logits != -np.inf] if of.sampler.name == "top_n_sigma" else want.ids
    keys = _keys(of)
    if keys is None:
        return None
    gone = ~np.isin(held.ids, stays)
    order = np.lexsort((gone, keys))  # of equal ones those that the reference leaves are first
    n, everything = len(stays), len(order)
    if gone[order[:n]].any():
        return None

    def right(count: int) -> bool:
        return 0 < count <= everything and of.accepts(_prefix(of, order, count))

    if not right(n):
        off = n == everything and of.accepts(Got(want.ids, want.logits, want.p, None, -1))
        all_places = np.arange(everything)
        return _of_counts(held, all_places, n, n) if off and not right(n - 1) else None
    least = most = n
    while right(least - 1) and n - least < MOST_ASKED:
        least -= 1
    while right(most + 1) and most - n < MOST_ASKED:
        most += 1
    return _of_counts(held, order, least, most)


def _keys(of: Input) -> NDArray[Any] | None:
    """Return numbers, the smallest of the candidate that survives longest; None if rounding may
    change their order."""
    logits = of.held.logits
    if of.sampler.name == "xtc":  # the largest go, but for the least of the top choices
        return logits
    if of.sampler.name != "typical_p":
        return -logits
    shares = np.exp(logits.astype(np.float64) - float(logits.max()))
    shares /= shares.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = -np.log(shares)
        away = np.asarray(abs(surprise - np.nansum(shares * surprise)))
        order = np.argsort(away, kind="stable")
        distinct = (np.diff(away[order]) > 1e-4) | (logits[order][1:] == logits[order][:-1])
    return away if distinct.all() and np.isfinite(away).all() else None


def _prefix(of: Input, order: NDArray[np.intp], count: int) -> Got:
    places = order[:count]
    name = of.sampler.name
    if name == "top_n_sigma":
        everything = np.arange(len(order))
        got = _got(of, everything)
        masked = np.full(len(order), -np.inf, np.float32)
        masked[places] = of.held.logits[places]
        return Got(got.ids, masked, got.p, None, -1)
    if name == "min_p" and not of.want.sorted:
        places = np.sort(places)
    if name == "xtc":
        places = places[::-1]
        if len(places) == len(order):
            places = np.arange(len(order)) if not of.want.sorted else places
    return _got(of, places)


def _of_counts(held: Held, order: NDArray[np.intp], least: int, most: int) -> Accepted:
    """Return the survivors if their number may be least to most. Equal logits at the cut are
    exchangeable: they may stay. Logits of -inf do not count, because no row shows them."""
    logits, ids = held.logits[order], held.ids[order]
    start, end = least, most
    if least < len(ids) and logits[least] == logits[least - 1]:
        start = int((logits == logits[least - 1]).argmax())
    while end < len(ids) and logits[end] == logits[most - 1]:
        end += 1
    finite = logits > -np.inf
    stay, may = ids[:start][finite[:start]], ids[start:end][finite[start:end]]
    numbers = int(finite[:least].sum()), int(finite[:most].sum())
    return Accepted(stay.tolist(), may.tolist(), *numbers)


def _values(of: Input) -> Accepted | None:
    held, want = of.held, of.want
    try:
        stage = cast(_Recorded, of.judged(Got(want.ids, want.logits, want.p, None, -1)))
    except Wrong:
        return None
    if not stage.intervals and (want.logits == -np.inf).sum() > (held.logits == -np.inf).sum():
        largest = held.ids[held.logits == held.logits.max()].tolist()  # temp <= 0 leaves one
        same = [float(held.logits.max())] * len(largest)
        stay, may = (largest, []) if len(largest) == 1 else ([], largest)
        return Accepted(stay, may, 1, 1, same, same)
    if not stage.intervals and np.array_equal(np.sort(want.logits), np.sort(held.logits)):
        all_places = np.arange(len(held.ids))
        return _of_counts(held, all_places, len(all_places), len(all_places))
    low = high = want.logits.astype(np.float64)
    if stage.intervals:
        bounds = stage.intervals[-1]
        low, high = (np.broadcast_to(end, low.shape) for end in (bounds.low, bounds.high))
    if np.isnan(low).any() or np.isnan(high).any():
        return None
    stays, may = low > -np.inf, (low == -np.inf) & (high > -np.inf)
    ids = [*want.ids[stays].tolist(), *want.ids[may].tolist()]
    low, high = (np.append(end[stays], end[may]) for end in (low, high))
    n = int(stays.sum())
    return Accepted(ids[:n], ids[n:], n, len(ids), low.tolist(), high.tolist())


def _selected(of: Input) -> Accepted | None:
    held, want = of.held, of.want
    tokens = [
        int(held.ids[i])
        for i in _near(of)
        if of.accepts(Got(held.ids, held.logits, want.p, None, int(i)))
    ]
    all_places = np.arange(len(held.ids))
    counted = _of_counts(held, all_places, len(all_places), len(all_places))
    return replace(counted, tokens=tokens) if tokens else None


def _near(of: Input) -> list[int]:
    """Return the places that may be selected: equal largest ones, or neighbours of a draw."""
    held, selected = of.held, of.want.selected
    if of.sampler.name == "greedy":
        return [*map(int, np.flatnonzero(held.logits == held.logits.max()))]
    possible = np.flatnonzero(of.want.p > 0)
    at = int(np.searchsorted(possible, selected))
    return [*map(int, possible[max(0, at - 2) : at + 3])]


def token_alone(of: Input, uniform: float | None) -> Accepted | None:
    """Return the token that a sampler with a state of numbers must select; None unless it is the
    same for a state and a random number that are AWAY from these, and whichever of equal logits
    stands first."""
    if not np.isfinite(of.held.logits.max()):
        return None
    backwards = replace(of.held, ids=of.held.ids[::-1], logits=of.held.logits[::-1], sorted=False)
    sorts = of.sampler.name != "adaptive_p"
    for held in (of.held, backwards) if sorts else (of.held,):
        for draw, state in product((-AWAY, AWAY), repeat=2):
            sampler, cand = deepcopy(of.sampler), held.candidates()
            vars(sampler)["rng"] = OneNumber(min(max((uniform or 0.0) + draw, 0.0), 1.0))
            vars(sampler)["mu" if sorts else "weighted_sum"] += np.float32(state)
            sampler.apply(cand)
            if cand.token != of.want.token:
                return None
    return Accepted([], tokens=[of.want.ids[of.want.selected].item()], alone=True)
