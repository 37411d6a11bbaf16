"""Find what behaves like a backend: a planted fault of the self-test, or one by construction.

A planted fault is named if it gives the same result on the minimized case, on nearly all cases of
the group, on nearly all other failures that it shows in, and on every passing case that was looked
at. If two faults are left, the one with more verdicts equal on passing cases is named, or both; if
there are more, none is. A backend that orders equal logits otherwise is compared with the faults
under its sort. Each fault is tried with candidates that report whether they are sorted, and with
ones that do not.

If no planted fault is left, those of families.py are tried. The simplest that does the same in all
cases is named.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records import BackendResult, Known
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.families import families
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.verdicts import RIGHT, Accept, Verdict
from sampler_parity.reference import Candidates


class FirstOfEquals(Candidates):
    """A stable sort: JavaScript's, Python's, std::stable_sort."""

    __slots__ = ()

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        self.refuse_nan()
        return np.argsort(-self.logits, kind="stable")[:n].astype(np.int32)

    def partial_sort(self, n: int) -> None:
        self.keep(self.order_of_largest(n))
        self.sorted = True


class LastOfEquals(FirstOfEquals):
    """A stable sort that ascends, read from its end: numpy.argsort and `[::-1]`."""

    __slots__ = ()

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        self.refuse_nan()
        return np.argsort(self.logits, kind="stable")[::-1][:n].astype(np.int32)


PASSES: tuple[Verdict, ...] = (*RIGHT, "close")
NEARLY_ALL = 0.9  # Two implementations of one fault differ in edge cases.
FEW = 2  # Cases that show a fault, at least: any one resembles many.
MOST = 2  # Faults that are named; more would not help.
_TIMEOUT_S = 10.0  # of the processor, for a fault that is endless
_DIGITS = 5  # of numbers: another library's expf differs in the last

Judged = Sequence[tuple[Case, BackendResult]]
Did = Literal["the same", "alike", "right", "otherwise"]  # alike: both right, in another order


class Seen(NamedTuple):
    """What a backend did. failing: cases of the group. passing, otherwise: cases through the same
    sampler that pass, or fail otherwise. accept: of the run; faults are judged as the backend was.
    """

    small: Case
    on_small: BackendResult
    failing: Judged
    passing: Judged
    otherwise: Judged
    accept: Accept = "identical"


class Resemblance(NamedTuple):
    """How many failing cases a fault explains, and how many passing ones have its verdict."""

    explains: int
    agreeing: int


def diagnose(failure: Seen) -> list[Known]:
    """Return the planted faults that do as the backend did and explain most."""
    if threading.current_thread() is not threading.main_thread():
        return []  # an endless fault could not be stopped
    with accepting(failure.accept):
        faults = [
            (_known(mutant, match.explains, len(failure.failing)), match.agreeing)
            for mutant, match in _resemblances(failure)
        ]
    most = max((fault.explains for fault, _ in faults), default=0)
    best = [(fault, agreeing) for fault, agreeing in faults if fault.explains == most]
    likest = max((agreeing for _, agreeing in best), default=0)
    return [fault for fault, agreeing in best if agreeing == likest] if len(best) <= MOST else []


def constructed(failure: Seen) -> list[Known]:
    """Return the first fault by construction that does as the backend did on all of these cases."""
    pairs = [(failure.small, failure.on_small)]
    pairs += [*failure.failing, *failure.otherwise, *failure.passing]
    if (
        threading.current_thread() is not threading.main_thread()
        or len(failure.failing) + len(failure.otherwise) < FEW
    ):
        return []
    with accepting(failure.accept):
        for mutant, kind in product(families(failure.on_small.stage), _sorts(failure)):
            with closing(InProcess(mutant, _TIMEOUT_S, kind)) as backend:
                if all(_did(*pair, backend) in ("the same", "alike") for pair in pairs):
                    return [_known(mutant, len(failure.failing), len(failure.failing))]
    return []


def _resemblances(failure: Seen) -> Iterator[tuple[Mutant, Resemblance]]:
    """Yield the planted faults that do as the backend did, under the sort that explains most."""
    hows = [*product(_sorts(failure), (True, False))]
    for mutant in _of_stage(failure.on_small.stage, failure.small.check):
        tried = (_resemblance(mutant, failure, *how) for how in hows)
        if best := max(filter(None, tried), default=None):
            yield mutant, best


def _resemblance(
    mutant: Mutant, failure: Seen, kind: type[Candidates], reports_sorted: bool
) -> Resemblance | None:
    """Return None if it does not do as the backend did. Among other failures it may let a case
    pass."""
    with closing(InProcess(mutant, _TIMEOUT_S, kind, reports_sorted)) as backend:
        if _did(failure.small, failure.on_small, backend) != "the same":
            return None
        agreeing = 0
        for pair in failure.passing:
            did = _did(*pair, backend)
            agreeing += did == "the same"
            if did in ("right", "otherwise"):
                return None
        explains = [_did(*pair, backend) for pair in failure.failing]
        elsewhere = [_did(*pair, backend) for pair in failure.otherwise]
    same = explains.count("the same")
    wrong = [did for did in elsewhere if did in ("the same", "otherwise")]
    nearly_all = same + explains.count("alike") >= NEARLY_ALL * len(explains)
    if nearly_all and wrong.count("the same") >= NEARLY_ALL * len(wrong):
        return Resemblance(same, agreeing)
    return None


def _sorts(failure: Seen) -> tuple[type[Candidates], ...]:
    """Return llama.cpp's sort; also the sorts of others if the backend was seen to have another."""
    has_other_sort = any(
        result.ties
        or result.verdict in ("reordered", "tied")
        or (result.what == "ids" and result.values.get("others") == 0)
        for _, result in (*failure.failing, *failure.passing, *failure.otherwise)
    )
    return (Candidates, FirstOfEquals, LastOfEquals) if has_other_sort else (Candidates,)


def _of_stage(stage: str, kind: str) -> Iterator[Mutant]:
    """Yield the faults that show at a stage and do not end this process; batch faults for a batch
    only."""
    of_stage = (m for m in MUTANTS.values() if m.stage == stage or m.of_order)
    return (mutant for mutant in of_stage if kind == "batch" or mutant.sampler != "batch")


def _known(mutant: Mutant, explains: int, tried: int) -> Known:
    fault = " ".join(mutant.fault.split()).rstrip(".")
    return Known(name=mutant.name, fault=fault, explains=explains, tried=tried)


def _did(case: Case, result: BackendResult, backend: InProcess) -> Did:
    """Return what a fault did on a case where the backend has this result."""
    of_fault = execute(case, [backend]).backends[backend.name]
    if observed(of_fault) == observed(result):
        return "the same" if of_fault.verdict == result.verdict else "alike"
    return "right" if of_fault.verdict in PASSES else "otherwise"


def observed(result: BackendResult) -> tuple[Any, ...]:
    """Return verdict, place, and both sides of the first difference; counts alone if they differ,
    because equal candidates that stay may stand in any order."""
    if result.verdict in RIGHT:
        return ("right",)
    position = result.verdict, result.step, result.stage, result.stage_index
    counts = result.values.get("survivors", {})
    if counts and counts.get("got") != counts.get("expected"):
        return *position, _rounded(counts)
    values = {key: value for key, value in result.values.items() if key != "rule"}
    return *position, result.what, _rounded(values)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
