"""A cell of the matrix: what the cases of an engine at a property or a sampler come to."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.replay import command, replay
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.failures.explanations import Key
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.verdicts import ORDER, worst
from sampler_parity.reports.engine_order import reason
from sampler_parity.reports.pages.matrix.model import CellDifference, MatrixCell, Property
from sampler_parity.reports.pages.matrix.properties import FOLDER
from sampler_parity.reports.summary import anchor

OTHERS = 12  # ids of cases after the first
LONGEST = 160  # characters of a reply of an engine


@dataclass(frozen=True)
class Result:
    """A case on an engine, and the bundle that has it."""

    bundle: Bundle
    case: CaseResult
    got: BackendResult


def cell_of(
    engine: str,
    column: str,
    results: Sequence[Result],
    explained: dict[Key, str],
    asked: Property | None = None,
) -> MatrixCell:
    """Return a cell. asked: of a property, in which each case that differs has its own entry."""
    judged = [result for result in results if result.got.verdict != "skipped"]
    verdicts = [result.got.verdict for result in judged]
    lacks = "" if judged or not results else results[0].got.detail
    return MatrixCell(
        column=visible(column),
        judged=len(judged),
        identical=verdicts.count("identical"),
        met=sum(result.case.met(engine) for result in judged),
        skipped=len(results) - len(judged),
        verdict=worst(verdicts) if verdicts else None,
        lacks=visible(one_line(lacks, LONGEST)),
        anchor=anchor(engine, FOLDER if asked else "sampler", column),
        replay=_replay(engine, judged, asked) if judged else "",
        differences=list(_differences(engine, judged, explained, asked)),
    )


def _replay(engine: str, judged: Sequence[Result], asked: Property | None) -> str:
    """Return, of a property, all of its cases, of a sampler the first: they are of many suites."""
    first = judged[0]
    if asked is None:
        return replay(first.bundle.info, first.case.suite, first.case.id, [engine])
    info = {engine: first.bundle.info.backends[engine]}
    return command(first.case.suite, f"{asked.name}/*", first.bundle.info.seed, info)


def _differences(
    engine: str, judged: Sequence[Result], explained: dict[Key, str], asked: Property | None
) -> Iterator[CellDifference]:
    """Yield what fails first, then the worst verdict, then what is most frequent."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in judged:
        got = result.got
        if got.verdict != "identical" or not result.case.met(engine):
            why = visible(one_line(reason(engine, got, explained), LONGEST))
            met = "" if result.case.met(engine) else "not met"
            groups[got.verdict, got.stage, why, met, result.case.id if asked else ""].append(result)
    ranked = sorted(
        groups.items(),
        key=lambda item: (not item[0][3], -_rank(item[1][0]), -len(item[1]), item[1][0].case.id),
    )
    for (_, stage, why, met, _), members in ranked:
        yield _difference(engine, stage, why, not met, members, asked)


def _rank(result: Result) -> int:
    return ORDER.index(result.got.verdict)


def _difference(
    engine: str,
    stage: str,
    why: str,
    required: bool,
    members: Sequence[Result],
    asked: Property | None,
) -> CellDifference:
    first = members[0]
    got, case = first.got, first.case
    margins = [margin for member in members if (margin := _margin(member.got)) is not None]
    return CellDifference(
        verdict=got.verdict,
        stage=visible(stage),
        cases=len(members),
        why=why,
        required=required,
        margin=max(margins, default=None),
        case=visible(case.id),
        description=asked.cases.get(case.id, "") if asked else "",
        what=visible(got.what),
        got=visible(got.values.get("got")),
        expected=visible(got.values.get("expected")),
        detail=visible(one_line(got.detail, LONGEST)),
        replay=replay(first.bundle.info, case.suite, case.id, [engine]),
        others=[visible(member.case.id) for member in members[1 : 1 + OTHERS]],
    )


def _margin(got: BackendResult) -> float | None:
    """Return the distance from the cut for a boundary, as a share of the cut; for a close value, by
    how much the first value is off.
    """
    values = got.values
    if got.verdict == "boundary":
        return _number(values.get("margin"))
    a, b = _number(values.get("got")), _number(values.get("expected"))
    return abs(a - b) if got.verdict == "close" and a is not None and b is not None else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
