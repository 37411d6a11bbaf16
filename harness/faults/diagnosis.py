"""Find the planted faults that behave like a backend: the faults of the self-test as a dictionary.

A fault is named if it gives the same result on a minimized case and on nearly all cases of the
group that were looked at, and passes nearly all that the backend passes. Nearly everywhere that it
shows, in the group or not, it must do as the backend did. If two faults are left, the one with more
verdicts equal on passing cases is named, or both; if there are more, none is. A backend that orders
equal logits otherwise is compared with the faults under its sort. Each fault is tried with
candidates that report whether they are sorted, and with ones that do not.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from typing import Any, Literal

from sampler_parity.harness.bundle.records.counterexample import Known
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.correct.accepting import accepting
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.sorts import FirstOfEquals, LastOfEquals
from sampler_parity.harness.verdicts import RIGHT, Accept, Verdict
from sampler_parity.reference import Candidates

PASSES: tuple[Verdict, ...] = (*RIGHT, "close")
NEARLY_ALL = 0.8  # Two implementations of one fault differ in edge cases.
MOST = 2  # Faults that are named; more would not help.
_TIMEOUT_S = 2.0
_DIGITS = 5  # of numbers: another library's expf differs in the last

Judged = Sequence[tuple[Case, BackendResult]]
Did = Literal["the same", "alike", "right", "otherwise"]  # alike: both right, in another order


def diagnose(
    small: Case,
    on_small: BackendResult,
    failing: Judged,
    passing: Judged,
    others: Judged,
    accept: Accept = "identical",
) -> list[Known]:
    """Return the faults that do as the backend did and explain most.

    failing: cases of the group. passing, others: cases through the same sampler that pass, or fail
    otherwise. Each with its result. accept: of the run; faults are judged as the backend was.
    """
    if threading.current_thread() is not threading.main_thread():
        return []  # an endless fault could not be stopped
    with accepting(accept):
        known = [
            (_known(mutant, found[0], len(failing)), found[1])
            for mutant in _of_stage(on_small.stage, small.check)
            if (found := _explains(mutant, small, on_small, failing, passing, others)) is not None
        ]
    most = max((fault.explains for fault, _ in known), default=0)
    best = [(fault, alike) for fault, alike in known if fault.explains == most]
    likest = max((alike for _, alike in best), default=0)
    return [fault for fault, alike in best if alike == likest] if len(best) <= MOST else []


def _explains(
    mutant: Mutant,
    small: Case,
    on_small: BackendResult,
    failing: Judged,
    passing: Judged,
    others: Judged,
) -> tuple[int, int] | None:
    """Return how many failing cases it explains, and how many passing ones with the same verdict,
    under the sort that explains most; None if it does not do as the backend did."""
    explained = []
    for kind, reports_sorted in product(_sorts([*failing, *passing, *others]), (True, False)):
        with closing(InProcess(mutant.name, _TIMEOUT_S, kind, reports_sorted)) as backend:
            if _did(small, on_small, backend) == "the same":
                explains = [_did(*pair, backend) for pair in failing]
                if not _nearly_all(explains):
                    continue
                passes = [_did(*pair, backend) for pair in passing]
                elsewhere = [_did(*pair, backend) for pair in others]
                if _alike(explains, passes, elsewhere):
                    explained.append((explains.count("the same"), passes.count("the same")))
    return max(explained, default=None)


def _sorts(judged: Judged) -> tuple[type[Candidates], ...]:
    """Return llama.cpp's sort; also the sorts of others if the backend was seen to have another."""
    others = any(
        result.ties
        or result.verdict in ("reordered", "tied")
        or (result.what == "ids" and result.values.get("others") == 0)
        for _, result in judged
    )
    return (Candidates, FirstOfEquals, LastOfEquals) if others else (Candidates,)


def _of_stage(stage: str, kind: str) -> Iterator[Mutant]:
    """Yield the faults that show at a stage and do not end this process; batch faults for a batch
    only."""
    of_stage = (m for m in MUTANTS.values() if m.stage == stage or m.of_order)
    return (mutant for mutant in of_stage if kind == "batch" or mutant.sampler != "batch")


def _known(mutant: Mutant, explains: int, tried: int) -> Known:
    fault = " ".join(mutant.fault.split()).rstrip(".")
    return Known(name=mutant.name, fault=fault, explains=explains, tried=tried)


def _alike(explains: list[Did], passes: list[Did], elsewhere: list[Did]) -> bool:
    """Return whether the fault does the same on nearly all of the group, on nearly all that pass,
    and on nearly all where it shows."""
    same = explains.count("the same") + elsewhere.count("the same")
    shows = same + (explains + passes + elsewhere).count("otherwise")
    return _nearly_all(explains) and _nearly_all(passes) and same >= NEARLY_ALL * shows


def _nearly_all(did: list[Did]) -> bool:
    return did.count("the same") + did.count("alike") >= NEARLY_ALL * len(did)


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
    place = result.verdict, result.step, result.stage, result.stage_index
    counts = result.values.get("survivors", {})
    if counts and counts.get("got") != counts.get("expected"):
        return *place, _rounded(counts)
    return *place, result.what, _rounded(result.values)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
