"""Findings: the results of a bundle that are not as required, in groups with one cause each, the
worst first.

A group is a backend, a verdict, the stage that differs first, and what differs there. Every report
of failures (terminal, pages, JUnit, `explain`) shows these groups, with the same text.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import (
    NOT_RUN,
    BackendResult,
    CaseResult,
    CounterexampleResult,
    Known,
    LiveRow,
)
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.failures.differing import (
    ENDED,
    FOLDED,
    LACKS,
    DifferenceKind,
    id_of,
    kind_of,
    words,
)
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict

# Verdicts that a user can act on come before differences in the last digits.
WORST_FIRST: tuple[Verdict, ...] = (
    "crashed",
    "timeout",
    "rejected",
    "misused",
    "diverged",
    "flaky",
    "explained",
    "boundary",
    "close",
    "correct",
    "undefined",
    "tied",
    "reordered",
    "unsupported",
    "identical",
    "skipped",
)
_DO: dict[Verdict, tuple[str, str]] = {  # of one case, of several
    "crashed": ("case crashes", "cases crash"),
    "timeout": ("case takes too long", "cases take too long"),
    "rejected": ("case is rejected", "cases are rejected"),
    "diverged": ("case diverges", "cases diverge"),
    "misused": ("chain is misused", "chains are misused"),
    "flaky": ("case comes out differently", "cases come out differently"),
    "explained": ("case differs as explained", "cases differ as explained"),
    "boundary": ("case differs near the cut", "cases differ near the cut"),
    "close": ("case differs in last digits", "cases differ in last digits"),
    "correct": ("case is correct in another rounding", "cases are correct in another rounding"),
    "undefined": ("case has an undefined input", "cases have an undefined input"),
    "tied": (
        "case decides between equal ones otherwise",
        "cases decide between equal ones otherwise",
    ),
    "reordered": (
        "case orders equal candidates otherwise",
        "cases order equal candidates otherwise",
    ),
    "unsupported": ("case is not supported", "cases are not supported"),
    "identical": ("case is identical", "cases are identical"),
    "skipped": ("case is skipped", "cases are skipped"),
}
_PLACES = {"chain": " in the chain as one object", "token": " in the token", "relation": ""}


Smaller = dict[tuple[str, str], CounterexampleResult]  # by case and backend


class Small(Strict):
    """A minimized input, where it first differs, and the values there. got, expected: the ids that
    are left there, if they are few."""

    case: dict[str, Any]
    samplers: list[str]
    step: int | None
    steps: int
    draws: int
    stage: str
    stage_index: int | None
    what: str
    values: dict[str, Any]
    row: LiveRow | None
    got: list[int]
    expected: list[int]


class FailureExample(Strict):
    """The smallest case of a group: where it first differs, and the values there. small: an input
    minimized from it; `said`: why there is none."""

    case: str
    suite: str
    samplers: list[str]
    step: int | None
    steps: int
    draws: int
    stage: str
    stage_index: int | None
    what: str
    values: dict[str, Any]
    row: LiveRow | None
    detail: str
    why: str
    required: list[Verdict]
    small: Small | None
    said: str
    replay: str

    @property
    def shown(self) -> "Small | FailureExample":
        """Whose values are shown: those of the small input, where they are known."""
        return self.small if self.small is not None and self.small.what else self


class Group(Strict):
    """text: the group in one line. id: of its kind, as policies name it. anchor: its place on a
    page, the same from run to run. known: planted faults that give the same."""

    id: str = ""
    anchor: str
    backend: str
    verdict: Verdict
    stage: str
    what: str
    text: str
    cases: list[str]
    example: FailureExample
    known: list[Known]


def groups(
    info: RunInfo | None, cases: Iterable[CaseResult], small: Iterable[CounterexampleResult] = ()
) -> list[Group]:
    """Return the groups of results that are not as required, the worst first, skipped ones last.
    info: None if no command runs a case again."""
    members: dict[tuple[str, Verdict, str, DifferenceKind], list[CaseResult]] = {}
    for case in where(cases, lambda case: bool(_failing(case))):
        for backend in _failing(case):
            result = case.backends[backend]
            kind = LACKS if result.verdict in FOLDED else kind_of(result)
            of = (backend, result.verdict, stage_of(result), kind)
            members.setdefault(of, []).append(case)
    smaller = {(record.case, record.backend): record for record in small}
    found_groups = [
        _group(info, backend, verdict, stage, kind, of_group, smaller)
        for (backend, verdict, stage, kind), of_group in members.items()
    ]
    return sorted(found_groups, key=rank)


def _failing(case: CaseResult) -> list[str]:
    return [name for name, got in case.backends.items() if not got.among(case.passing(name))]


def stage_of(result: BackendResult) -> str:
    """Return the stage that a case counts for; "" if nothing came back."""
    return "" if result.verdict in ENDED else result.stage


def counts_for(case: CaseResult, backend: str) -> set[str]:
    """Return the samplers that a case is evidence for: the one at which it first differs; all of
    its chain if none does, or none can be named."""
    result = case.backends.get(backend)
    stage = stage_of(result) if result and result.verdict != "identical" else ""
    return {stage} if stage in case.samplers else set(case.samplers)


def rank(group: Group) -> tuple[int, bool, bool, int, str]:
    """Return a sort key: the worst verdict, then what stopped a backend before what was not run for
    it, then what the suite of the sampler itself shows, then the most cases."""
    not_run = group.example.detail.startswith(NOT_RUN)
    elsewhere = group.example.suite.rpartition("/")[2] != group.stage
    return WORST_FIRST.index(group.verdict), not_run, elsewhere, -len(group.cases), group.anchor


def _group(
    info: RunInfo | None,
    backend: str,
    verdict: Verdict,
    stage: str,
    kind: DifferenceKind,
    cases: list[CaseResult],
    smaller: Smaller,
) -> Group:
    cases = sorted(cases, key=lambda case: _size(case, backend, smaller))
    record = smaller.get((cases[0].id, backend))
    where_text = _PLACES.get(stage, f" at {stage}" if stage else "")
    text = f"{len(cases):,} {_DO[verdict][len(cases) > 1]}{where_text}"
    faults = record.known if record else []
    difference = words(kind, stage, [case.backends[backend] for case in cases])
    return Group(
        id=id_of(cases[0].backends[backend]),
        anchor=anchor(backend, verdict, stage, kind),
        backend=backend,
        verdict=verdict,
        stage=stage,
        what=kind.name,
        text=f"{text}: {difference}{_as_if(faults)}",
        cases=[case.id for case in cases],
        example=_example(info, backend, cases[0], record),
        known=faults,
    )


def _as_if(records: list[Known]) -> str:
    """Return the planted faults that do the same, as the end of a group's line."""
    faults = ", or: ".join(fault.fault for fault in records)
    return f"; as if: {faults}" if faults else ""


def _size(
    case: CaseResult, backend: str, smaller: Smaller
) -> tuple[bool, bool, int, int, int, int, str]:
    """Return a sort key: minimized or tried cases, then short chains, few steps, few tokens."""
    record = smaller.get((case.id, backend))
    counts = case.backends[backend].values.get("survivors")
    expected = counts.get("expected", 0) if isinstance(counts, dict) else 0
    few = expected if isinstance(expected, int) else 0
    small = (record is None or record.smaller is None) and _of_before(case, backend) is None
    size = len(case.samplers), case.steps, case.draws, few
    return small, record is None, *size, case.id


def _example(
    info: RunInfo | None, backend: str, case: CaseResult, record: CounterexampleResult | None
) -> FailureExample:
    return FailureExample(
        **first_difference(info, case, backend),
        why=case.why,
        small=_small(record.smaller if record else _of_before(case, backend), record),
        said=record.said if record else "",
    )


def first_difference(info: RunInfo | None, case: CaseResult, backend: str) -> dict[str, Any]:
    """Return where a case first differs on a backend, the values there, and how to run it again:
    the fields of an example, and of a difference of the report."""
    result = case.backends[backend]
    names = ("step", "stage", "stage_index", "what", "values", "row", "detail")
    return {name: getattr(result, name) for name in names} | {
        "case": case.id,
        "suite": case.suite,
        "samplers": case.samplers,
        "steps": case.steps,
        "draws": case.draws,
        "required": case.passing(backend),
        "replay": replay(info, case.suite, case.id, [backend]) if info else "",
    }


def _of_before(case: CaseResult, backend: str) -> dict[str, Any] | None:
    """Return the counterexample of a bundle of an old version, which has it in the case: that of
    the first backend that differs, without its result."""
    shrunk = ("diverged", "close", "tied", "reordered")
    names = [name for name, result in case.backends.items() if result.verdict in shrunk]
    return case.counterexample if names[:1] == [backend] else None


def _small(data: dict[str, Any] | None, record: CounterexampleResult | None) -> Small | None:
    if data is None:
        return None
    result = (record.result if record else None) or BackendResult(verdict="identical")
    chain = data.get("chain")
    stages = chain if isinstance(chain, list) else []
    steps, draws = data.get("steps", 1), data.get("draws", 0)
    return Small(
        case=data,
        samplers=[name for stage in stages if isinstance(stage, dict) for name in stage],
        step=result.step,
        steps=steps if isinstance(steps, int) else 1,
        draws=draws if isinstance(draws, int) else 0,
        stage=result.stage,
        stage_index=result.stage_index,
        what=result.what,
        values=result.values,
        row=result.row,
        got=record.got if record else [],
        expected=record.expected if record else [],
    )


def anchor(backend: str, verdict: Verdict, stage: str, kind: DifferenceKind) -> str:
    """Return letters, digits, dots and dashes, never the same for two groups."""
    exact = "\n".join((backend, verdict, stage, kind.name, kind.said))
    readable = re.sub(r"[^a-z0-9_.]+", "-", f"{backend}-{verdict}-{stage}-{kind.name}".lower())
    return f"{readable[:80].strip('-')}-{hashlib.sha256(exact.encode()).hexdigest()[:6]}"
