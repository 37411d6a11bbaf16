"""One stage of a run: what the backend had before, and what it left."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import (
    Decision,
    Interval,
    Reals,
    normal_from,
    of_report,
    unit,
)
from sampler_parity.harness.correct.softmax import Softmax, softmax
from sampler_parity.harness.engines.samplers import threshold_of
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates

_UNSTABLE = "the order of equal logits is not that of the stated stable sort"


class Wrong(Exception):  # noqa: N818 - a verdict
    """No correctly rounded evaluation gives this. what: ids, logits, p, survivors or selected."""

    def __init__(self, what: str, **values: Any) -> None:
        super().__init__(what)
        self.what, self.values = what, values


def stated(wrong: Wrong, stage: "Stage") -> Wrong:
    """Add to the values what is broken, as a sentence `rule`; survivors: how many stay, and the
    nearest number that is right, if that is another."""
    values, left = wrong.values, len(stage.got.ids)
    if wrong.what == "survivors" or (wrong.what == "ids" and values.get("got") == left != 0):
        n = values.pop("got", left)  # an engine may mask what it removes
        expected = values.pop("expected", None if "mass" in values else len(stage.want))
        match values:
            case {"mass": mass, "threshold": threshold}:
                more = mass >= threshold if expected is None else expected < n
                expected = (n - 1 if more else n + 1) if expected is None else expected
                name = threshold_of(stage.sampler.name) or "the threshold"
                does = "reaches" if more else "misses" if mass < threshold else "only equals"
                of = "without the last one the" if more else "the kept"
                # str gives the shortest decimals
                values["rule"] = f"{of} mass {mass:.9g} {does} {name} = {np.float32(threshold)!s}"
            case {"least": least, "most": most}:
                expected = min(max(n, least), most)
                right = f"{least} to {most}" if least < most else least
                values["rule"] = f"it keeps {n}, and must keep {right}"
            case {"reachable": numbers}:
                expected = min(numbers, key=lambda number: abs(number - n))
                values["rule"] = f"it keeps {n}, and must keep {' or '.join(map(str, numbers))}"
            case {"at_least": expected}:
                values["rule"] = f"it keeps {n}, and must keep at least {expected}"
            case {"kept": stays, "id": token, "logit": logit, "low": low, "high": high}:
                values["rule"] = _beside_cut(token, stays, logit, low, high)
        if expected != n:
            values["survivors"] = {"got": n, "expected": expected}
        elif "rule" not in values:
            values.setdefault("reason", "others stay, or in another order")
        return wrong
    got, token = values.get("got"), values.get("id", -1)
    match values:
        case {"removed": removed, "rank": _}:
            values["expected"] = removed
            values["rule"] = f"token {got} stays, and token {removed} of a larger logit goes"
        case {"low": low, "high": high, "u": u}:
            values["rule"] = (
                f"u = {u:.9g} is outside the piece of token {got}, {low:.9g}..{high:.9g}"
            )
        case {"logit": logit, "low": low, "high": high}:
            stays = got != -np.inf
            values["expected"] = -np.inf if stays else logit
            values["rule"] = _beside_cut(token, stays, logit, low, high)
        case {"low": low, "high": high, "rank": _}:
            right = f"{(low + high) / 2:.9g} +- {(high - low) / 2:.1g}"
            right = right if math.isfinite(high - low) else f"{low:.9g} to {high:.9g}"
            values["expected"] = low if low == high else right
            values["rule"] = f"token {token} has {got:.9g}, and {values['expected']} is right"
        case {"expected": expected, "allowed": share}:
            values["rule"] = (
                f"token {token} has p = {got:.9g}, and {expected:.9g} +- {share:.1g} is right"
            )
        case {"got": _} if "expected" not in values:
            values["id"] = values.pop("got")  # a place, which has no other side
    return wrong


def _beside_cut(token: int, stays: bool, logit: float, low: float, high: float) -> str:
    does, side = (
        ("stays", f"below the cut {low:.9g}") if stays else ("goes", f"not below {high:.9g}")
    )
    return f"token {token} {does}, and its logit {logit:.9g} is {side}"


def around_report(logits: NDArray[np.float32], arithmetic: Arithmetic) -> tuple[Reals, Reals]:
    """Return the smallest and largest numbers that a backend may hold if it reports these."""
    exact = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        away = np.where(np.isfinite(exact), abs(exact) * of_report(arithmetic.logits), 0.0)
    return exact - away, exact + away


@dataclass(frozen=True)
class Held:
    """Candidates as a backend reported them. low, high: what it may hold, where the report is
    rounded: float64[n]. sorted: whether the specification knows that they are in order."""

    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    p: NDArray[np.float32]
    low: Reals
    high: Reals
    sorted: bool
    selected: int = -1

    @classmethod
    def of_row(cls, row: NDArray[np.float32]) -> "Held":
        exact = row.astype(np.float64)
        ids = np.arange(len(row), dtype=np.int32)
        return cls(ids, row, np.zeros(len(row), np.float32), exact, exact, False)

    @classmethod
    def left(cls, got: Got, is_sorted: bool, arithmetic: Arithmetic) -> "Held":
        """Return what a backend left. A format of at most 24 bits is reported as it is."""
        low, high = around_report(got.logits, arithmetic)
        return cls(
            got.ids.copy(), got.logits.copy(), got.p.copy(), low, high, is_sorted, got.selected
        )

    def candidates(self) -> Candidates:
        return Candidates(
            self.ids.copy(), self.logits.copy(), self.p.copy(), self.sorted, self.selected
        )


@dataclass(frozen=True)
class Cut:
    """A decision. lean: by how many tokens the backend is behind (+) or ahead (-) of the exact sum
    of its own probabilities. exact: where exact values lie; then one answer is right."""

    lean: int = 0
    exact: frozenset[Decision] = frozenset()


@dataclass
class Stage:
    """The input and output of a stage. sampler: in its state before; want: the result of the
    reference on the same candidates; parameters: as the suite has them; memory: intervals of the
    sampler's state, which a judge moves on."""

    before: Held
    sampler: Any
    want: Candidates
    got: Got
    parameters: Mapping[str, Any]
    arithmetic: Arithmetic
    memory: dict[str, Interval] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)

    @cached_property
    def at(self) -> NDArray[np.int64]:
        """The places, among the candidates before, of those that are left. Raises Wrong."""
        ids = self.got.ids
        order = np.argsort(self.before.ids, kind="stable")
        places = np.searchsorted(self.before.ids, ids, sorter=order)
        places = order[np.minimum(places, len(order) - 1)] if len(order) else places
        nonempty = len(order) > 0 or len(ids) == 0
        if not nonempty or not np.array_equal(self.before.ids[places], ids):
            raise Wrong("ids", reason="a token that was no candidate")
        if len(np.unique(ids)) < len(ids):
            raise Wrong("ids", reason="a token twice")
        return np.asarray(places)

    @cached_property
    def removed(self) -> NDArray[np.int64]:
        """The places of the candidates that are gone."""
        stays = np.zeros(len(self.before.ids), bool)
        stays[self.at] = True
        return np.flatnonzero(~stays)

    @cached_property
    def softmax(self) -> Softmax:
        """The probabilities of the candidates before."""
        before = self.before
        return softmax(before.low, before.high, self.arithmetic, before.sorted)

    def hull(self, name: str) -> tuple[float, float]:
        """Return a parameter as its JSON number and as the nearest float32: the smaller first. A
        default, and the end of a range that clamps it, are the shortest number of that float32."""
        rounded = float(getattr(self.sampler, name))
        shortest = float(str(np.float32(rounded)))
        exact = float(self.parameters.get(name, shortest))
        if np.float32(exact) != np.float32(rounded):  # the sampler holds it clamped
            exact = shortest
        return min(exact, rounded), max(exact, rounded)

    def parameter(self, name: str) -> Interval:
        return self.interval(*self.hull(name))

    def interval(self, low: Any, high: Any | None = None) -> Interval:
        """Return an interval with the rounding of the backend's logits."""
        kind = self.arithmetic.logits
        return Interval(low, low if high is None else high, unit(kind), normal_from(kind))

    def shares(self) -> Interval:
        """Return the intervals of p of the candidates before."""
        exact = self.softmax
        away = np.minimum(exact.errors + exact.common, 1.0)
        return self.interval(exact.p * (1 - away), exact.p * (1 + away))

    # Requirements of judges. Each raises Wrong.

    def same_logits(self) -> None:
        self.same("logits", self.before.logits[self.at], self.got.logits)

    def same_p(self) -> None:
        self.same("p", self.before.p[self.at], self.got.p)

    def same(self, what: str, expected: Any, got: Any) -> None:
        """Require equal values; NaN equals NaN."""
        equal = (expected == got) | (np.isnan(expected) & np.isnan(got))
        if not equal.all():
            i = int(equal.argmin())
            self.wrong(what, i, expected=float(expected[i]))

    def wrong(self, what: str, i: int, **values: Any) -> NoReturn:
        """Raise Wrong for the value of the candidate at place i."""
        got = {"p": self.got.p, "logits": self.got.logits, "ids": self.got.ids}[what][i].item()
        raise Wrong(what, rank=i, id=int(self.got.ids[i]), got=got, **values)

    def same_ids(self) -> None:
        if not np.array_equal(self.got.ids, self.before.ids):
            same = len(self.got.ids) == len(self.before.ids)
            raise Wrong("ids" if same else "survivors", got=len(self.got.ids),
                        expected=len(self.before.ids))  # fmt: skip

    def none_selected(self) -> None:
        if self.got.selected != self.before.selected:
            raise Wrong("selected", got=self.got.token, expected=None)

    def same_selected(self) -> None:
        """Require the selection of the reference."""
        if self.got.selected != self.want.selected:
            raise Wrong("selected", got=self.got.token, expected=self.want.token)

    def same_values(self) -> None:
        """Require that each survivor keeps its logit and p, and that nothing is selected."""
        self.same_logits()
        self.same_p()
        self.none_selected()

    def all_but_logits(self) -> None:
        """Require that nothing but logits changes."""
        self.same_ids()
        self.same_p()
        self.none_selected()

    def unchanged(self) -> None:
        """Require that the stage did nothing."""
        self.same_ids()
        self.same_values()

    def logits_within(self, bounds: Interval) -> None:
        """Require each logit to be within its bounds: float64[n] in the order of the report."""
        bounds = bounds.widened(of_report(self.arithmetic.logits), 2.0**-149)
        value = self.got.logits.astype(np.float64)
        undefined = np.isnan(bounds.low) | np.isnan(bounds.high)
        with np.errstate(all="ignore"):
            inside = (bounds.low <= value) & (value <= bounds.high)
        inside = np.where(undefined, np.isnan(value) | inside, inside)
        if not inside.all():
            i = int(np.asarray(inside).argmin())
            low, high = (np.broadcast_to(x, value.shape) for x in (bounds.low, bounds.high))
            self.wrong("logits", i, low=float(low[i]), high=float(high[i]))

    def probabilities(self, of: Softmax | None = None, at: Any = None) -> tuple[float, float]:
        """Require the reported p to be those of a softmax; return the range of its normalizer.

        at: the places in that softmax; by default those among the candidates before.
        """
        exact, places = of or self.softmax, self.at if at is None else at
        if not exact.defined:
            if self.arithmetic.logits == "float64" and np.isinf(self.got.logits).any():
                return 1.0, 1.0  # a number that only the report cannot hold
            self.same("p", np.full(len(self.got.p), np.nan), self.got.p)
            return 1.0, 1.0
        normalizer = exact.normalizer(self.got.p, places)
        if normalizer is None:
            with np.errstate(all="ignore"):
                off = abs(self.got.p / exact.p[places] - 1) / (exact.errors[places] + exact.common)
            off[self.got.p == exact.p[places]] = 0
            i = int(np.nan_to_num(off, nan=np.inf).argmax())
            expected = float(exact.p[places][i])
            allowed = float(exact.errors[places][i] + exact.common)
            self.wrong("p", i, expected=expected, allowed=allowed)
        return normalizer

    def probabilities_of_report(self) -> None:
        """Require p to be the softmax of the logits that the backend itself reports."""
        logits = around_report(self.got.logits, self.arithmetic)
        of = softmax(*logits, self.arithmetic, self.before.sorted)
        self.probabilities(of, np.arange(len(self.got.ids)))

    def as_reference(self) -> None:
        """Require the reference's values: infinite or undefined ones leave nothing to bound."""
        if self.arithmetic.logits == "float64" and np.isposinf(self.before.logits).any():
            return  # the report cannot hold what a float64 may
        if not np.array_equal(self.got.ids, self.want.ids):
            index = {token: i for i, token in enumerate(self.before.ids.tolist())}
            at = [index.get(token, -1) for token in self.want.ids.tolist()]
            if len(at) != len(self.at) or -1 in at:
                raise Wrong("ids", got=len(self.got.ids), expected=len(self.want))
            ours, theirs = self.before.logits[at], self.before.logits[self.at]
            if not np.array_equal(ours, theirs, equal_nan=True):
                raise Wrong("ids", got=len(self.got.ids), expected=len(self.want))
        self.same("logits", self.want.logits, self.got.logits)
        self.same("p", self.want.p, self.got.p)
        self.same_selected()

    def most_likely_first(self, by_p: bool = False) -> None:
        """Require the survivors to be the largest logits, in descending order; equal ones in any.

        by_p: the stage writes p, so a backend may sort by p: logits that it rounds to the same p
        are equal, too. Candidates that llama.cpp takes for sorted, though they are not (a finding),
        may also stay as they are. A backend that states a stable sort keeps equal logits in the
        order of their ids or in that of its input, and cuts the last of them.
        """
        if self.before.sorted and np.array_equal(self.at, np.arange(len(self.at))):
            return
        self.descending(by_p)
        self.largest_survive(by_p)

    def descending(self, by_p: bool = False) -> None:
        """Require the survivors in descending order. by_p: those of equal p in any."""
        low, high = self.before.low[self.at], self.before.high[self.at]
        below = high[:-1] < low[1:]
        if by_p:
            below &= self.got.p[:-1] != self.got.p[1:]
        if below.any():
            self.wrong("ids", int(below.argmax()), reason="a larger logit comes after it")
        equal = (low[:-1] == high[1:]) & (high[:-1] == low[1:])
        equal &= (np.diff(self.at) < 0) & (np.diff(self.got.ids) < 0)
        if self.arithmetic.stable_sort and equal.any():
            self.wrong("ids", int(equal.argmax()), reason=_UNSTABLE)

    def largest_survive(self, by_p: bool = False) -> None:
        """Require no candidate that is gone to have a larger logit than one that stays. by_p: those
        of which p rounds to 0, or may, are equal."""
        if len(self.removed) == 0 or len(self.at) == 0:
            return
        high = self.before.high[self.at]
        first = self.removed[self.before.low[self.removed].argmax()]
        last = int(high.argmin())
        if self.arithmetic.stable_sort:
            self._last_of_equals_go(high[last])
        allowed = 0.0
        if by_p and self.softmax.defined:
            if self.softmax.p[first] < normal_from(self.arithmetic.probabilities):
                return
            allowed = 2 * self.softmax.errors[first]
        if self.before.low[first] > high[last] + allowed:
            self.wrong("ids", last, removed=int(self.before.ids[first]))

    def _last_of_equals_go(self, logit: float) -> None:
        equal = (self.before.low == logit) & (self.before.high == logit)
        gone, stay = self.removed[equal[self.removed]], self.at[equal[self.at]]
        if len(gone) == 0 or len(stay) == 0:
            return
        ids = self.before.ids
        if gone.min() < stay.max() and ids[gone].min() < ids[stay].max():
            raise Wrong("ids", removed=int(ids[gone].min()), reason=_UNSTABLE)
