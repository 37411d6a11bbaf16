"""Which failing cases are made small, and on what: shrinking takes seconds, and a run may fail in
hundreds of cases.

First the case is asked again in a fresh process: what does not fail there depends on earlier
requests or on chance, and no smaller case would show it. Then the first of each class, a stage with
a verdict on a backend, has its seconds; the others what is left of them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.parity.devices import on_rows, rows_of
from sampler_parity.harness.parity.execute import execute
from sampler_parity.harness.parity.shrink import short, shrink
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.messages import plain
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.case import Case
from sampler_parity.harness.verdicts import Verdict

# Seconds of one process of a run. 439 failures took 386 s without a bound.
OF_FIRSTS = 60.0
OF_OTHERS = 15.0

_DIFFERENCES: tuple[Verdict, ...] = ("diverged", "boundary", "close", "tied", "reordered")
BY_CHANCE = "not again in a fresh process: it depends on earlier requests or on chance"
NO_TIME = "not made small: the time for it went to cases before"


@dataclass
class Shrinking:
    """What a process has shrunk of a run."""

    classes: set[tuple[str, str, str]] = field(default_factory=set)
    spent_s: float = 0.0

    def has_time(self, of: tuple[str, str, str]) -> bool:
        return self.spent_s < (OF_OTHERS if of in self.classes else OF_FIRSTS)

    def small(
        self,
        case: Case,
        result: CaseResult,
        backends: Sequence[Backend],
        releases: dict[str, str],
    ) -> CaseResult:
        """A failing result with its counterexample, or with what is said in the place of one."""
        failing = _first_failing(result, backends)
        if failing is None:
            return result
        name = failing.name
        of = (name, result.backends[name].stage, result.backends[name].verdict)
        if not self.has_time(of):
            return _said(result, name, NO_TIME)
        start = time.monotonic()
        try:
            if _fails_afresh(case, result, failing, releases):
                smaller = counterexample(case, result, failing, releases)
                result = result.model_copy(update={"counterexample": smaller})
            else:
                result = _said(result, name, BY_CHANCE)
        finally:
            self.classes.add(of)
            self.spent_s += time.monotonic() - start
        return result


def _first_failing(result: CaseResult, backends: Sequence[Backend]) -> Backend | None:
    """The first backend that fails with a difference that can be made small."""
    for backend in backends:
        got = result.backends[backend.name]
        if not result.met(backend.name) and got.verdict in _DIFFERENCES:
            return None if got.stage == "relation" else backend
    return None


def _fails_afresh(
    case: Case, result: CaseResult, backend: Backend, releases: dict[str, str]
) -> bool:
    if not isinstance(backend, BackendProcess):
        return True
    backend.close()  # its next request starts another
    again = execute(case, [backend], None, releases).backends[backend.name]
    return again.verdict == result.backends[backend.name].verdict


def _said(result: CaseResult, name: str, words: str) -> CaseResult:
    got = result.backends[name]
    detail = "; ".join(filter(None, [got.detail, words]))
    backends = result.backends | {name: got.model_copy(update={"detail": detail})}
    return result.model_copy(update={"backends": backends})


def counterexample(
    case: Case, result: CaseResult, failing: Backend, releases: dict[str, str]
) -> dict[str, Any] | None:
    """The case made small on a backend that fails; None where its rows cannot be had from it."""
    verdict = result.backends[failing.name].verdict
    if case.kind == "on_device":
        try:
            case = on_rows(case, rows_of(failing, case.computed))
        except BackendFailure:
            return None

    def fails(smaller: Case) -> bool:
        again = execute(smaller, [failing], None, releases)
        return not again.refusal and again.backends[failing.name].verdict == verdict

    small = shrink(case, fails)
    shown: dict[str, Any] = short(plain(small.model_dump(by_alias=True, exclude_defaults=True)))
    return shown
