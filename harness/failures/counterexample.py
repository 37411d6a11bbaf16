"""Minimize a failing case: find one that fails alike with the fewest steps, stages and tokens.

First the case runs again in a fresh process. If it does not fail there, it depends on earlier
requests or on chance, and no smaller case would show it. A simpler case must fail as the case does:
with its verdict, at its stage, in the same kind of value.
"""

import tempfile
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.artifacts import stage_file
from sampler_parity.harness.bundle.records import BackendResult, CounterexampleResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.devices import DeviceCase, on_rows
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.logits import rows_of
from sampler_parity.harness.failures.differing import DifferenceKind, kind_of
from sampler_parity.harness.failures.groups import Group, stage_of
from sampler_parity.harness.failures.shrink import SCREEN_TOKENS, TRIES, shown, shrink
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.verdicts import Verdict

# Verdicts with two sides that differ. A crash has one, and each trial of it costs a process.
DIFFERENCES: tuple[Verdict, ...] = ("diverged", "boundary", "close", "tied", "reordered")
TRIED = 3  # cases of a group, the cheapest first: one may depend on earlier requests
BY_CHANCE = "not again in a fresh process: it depends on earlier requests or on chance"
SILENT = "not minimized: a fresh process gave no reply in time"
TOO_MANY = "not minimized: only the worst groups are"
CUT = f"not minimized further: {TRIES} simpler cases were tried"

Releases = dict[str, str]
Looks = tuple[Verdict, str, DifferenceKind]


def to_shrink(groups: Sequence[Group], cases: Mapping[str, Case]) -> list[tuple[Group, list[Case]]]:
    """Return the groups that can be minimized, the worst first, each with its cheapest cases."""
    return [
        (group, nsmallest(TRIED, (cases[name] for name in group.cases), key=lambda c: c.cost))
        for group in groups
        if group.verdict in DIFFERENCES and group.stage != "relation"
    ]


def looks(result: BackendResult) -> Looks:
    """Return what a result has in common with those of its group."""
    return result.verdict, stage_of(result), kind_of(result)


def counterexample(
    cases: Sequence[Case], backend: Backend, of: Looks, releases: Releases, afresh_s: float = 60.0
) -> CounterexampleResult:
    """Minimize the first case that fails in a fresh process as its group does. of: how that is.
    afresh_s: limit of a fresh process, whose first request loads what it needs."""
    record = CounterexampleResult(
        id=f"{cases[0].id} on {backend.name}", case=cases[0].id, backend=backend.name
    )
    reason = BY_CHANCE
    for case in cases:
        afresh = _afresh(case, backend, releases, afresh_s)
        if afresh == of:
            return _minimized(record, case, backend, of, releases)
        if afresh is not None and afresh[0] == "timeout":
            reason = SILENT
    return record.model_copy(update={"said": reason})


def _afresh(case: Case, backend: Backend, releases: Releases, seconds: float) -> Looks | None:
    """Return how a case looks in a fresh process, if the backend is a process."""
    if not isinstance(backend, BackendProcess):
        return _looks_on(case, backend, releases)
    backend.close()  # its next request starts another
    patience, backend.timeout_s = backend.timeout_s, seconds
    try:
        return _looks_on(case, backend, releases)
    finally:
        backend.timeout_s = patience


def _looks_on(case: Case, backend: Backend, releases: Releases) -> Looks | None:
    result = execute(case, [backend], None, releases)
    return None if result.refusal else looks(result.backends[backend.name])


def _minimized(
    record: CounterexampleResult, case: Case, backend: Backend, of: Looks, releases: Releases
) -> CounterexampleResult:
    name, cut = case.id, list[bool]()
    if isinstance(case, DeviceCase):
        try:
            case = on_rows(case, rows_of(backend, case.logits))
        except BackendFailure as failure:
            return record.model_copy(update={"case": name, "said": str(failure)})
    small = shrink(
        case, lambda smaller: _looks_on(smaller, backend, releases) == of, cut=cut.append
    )
    with tempfile.TemporaryDirectory() as folder:
        result = execute(small, [backend], Path(folder), releases)
        got, expected = _ids(Path(folder), small.id, backend.name)
    update: dict[str, Any] = {
        "id": f"{name} on {backend.name}",
        "case": name,
        "smaller": shown(small),
        "said": CUT if cut else "",
    }
    update |= {"result": result.backends[backend.name], "got": got, "expected": expected}
    return record.model_copy(update=update)


def _ids(folder: Path, case: str, backend: str) -> tuple[list[int], list[int]]:
    """Return the ids that are left where it differs, the backend's and the reference's; none if
    they are too many to be shown."""
    path = folder / stage_file(case, backend)
    if not path.exists():
        return [], []
    with np.load(path) as arrays:
        got, expected = arrays["got_ids"].tolist(), arrays["ids"].tolist()
    return (got, expected) if max(len(got), len(expected)) <= SCREEN_TOKENS else ([], [])
