"""Groups of failures on the parity page: a card for each, and its cases."""

from collections.abc import Iterator, Sequence
from functools import partial

from sampler_parity.harness.failures.format_difference import (
    differing_lines,
    in_one_line,
    known_lines,
    other_values,
    place,
    side_by_side,
)
from sampler_parity.harness.failures.groups import FOLDED, Example, Group, Small
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import lines_of
from sampler_parity.reports.pages.parity.labels import card_id
from sampler_parity.reports.pages.parity.model import Difference, Report, Section
from sampler_parity.reports.pictures.stages import Left, of_counterexample

CARDS = 5  # groups shown in full: with more, what else is on the page lies screens away
SHOWN = 20  # groups in Markdown, of each kind
CHART = (
    "What the reference does to the probabilities of this input, stage by stage, and what the "
    "backend keeps where that is something else."
)


def failures(report: Report, section: Section) -> Iterator[doc.Block]:
    """Yield the groups that are worst, in full, then the others, folded."""
    of_group = {(d.case, d.backend): d for d in section.differences}
    cards = section.reported[:CARDS]
    for group in [*section.reported, *section.folded]:
        name = card_id(report, section, group)
        ats = [(case, group.backend) for case in group.cases]
        rows = [of_group[at] for at in ats if at in of_group]  # what was skipped is no difference
        blocks = [*_smallest(group, name), *_members(rows)]
        if group in cards:
            yield doc.Card(group.text, name, blocks)
        else:
            yield doc.Fold(f"{group.text} ({group.backend})", blocks, id=name)


def brief(section: Section) -> doc.Table:
    """Return a row for each group of failures, the worst first."""
    told, folded = section.reported, section.folded
    groups = [*told[:SHOWN], *folded[:SHOWN], *told[SHOWN:], *folded[SHOWN:]]
    rows = [_brief(group) for group in groups]
    most = len(told[:SHOWN]) + len(folded[:SHOWN])
    head, what = "Finding | Backend | Smallest | Replay", "groups of failures"
    return doc.Table("", head, rows, most=most, what=what)


def _brief(group: Group) -> list[doc.Inline]:
    example, text = group.example, doc.Untrusted(group.text)
    parts: list[doc.Inline] = [doc.Name(example.case)]
    if example.small is not None:
        parts.append(doc.Name(in_one_line(example.small.case)))
    parts += map(doc.Untrusted, [*differing_lines(example.shown), *known_lines(group)])
    smallest = (parts[0], *(piece for part in parts[1:] for piece in ("; ", part)))
    finding = text if group.verdict in FOLDED else doc.Strong(text)
    return [finding, doc.Name(group.backend), smallest, doc.Code(example.replay)]


def differences(caption: str, rows: Sequence[Difference]) -> doc.Table:
    """Return a table of cases that are not identical."""
    return doc.Table(
        caption,
        "Case | Backend | Verdict | Where | What | Replay",
        [
            [
                *(d.case, d.backend, d.verdict, place(d)),
                doc.TableCell(_both_sides(d), kind="wide"),
                doc.Code(d.replay),
            ]
            for d in rows
        ],
    )


def _both_sides(d: Difference) -> str:
    sides = [f"{what}: {got}, expected {expected}" for what, got, expected in side_by_side(d)]
    return "; ".join(filter(None, [*sides, d.detail]))


def _members(rows: Sequence[Difference]) -> list[doc.Block]:
    if not rows:
        return []
    summary = "The one case" if len(rows) == 1 else f"All {len(rows):,} cases"
    return [doc.Fold(summary, [differences("The cases of this group.", rows)])]


def _smallest(group: Group, name: str) -> Iterator[doc.Block]:
    e = group.example
    if e.small:
        yield doc.Paragraph(("Smallest input: ", doc.Code(in_one_line(e.small.case))))
    yield from _values(e.shown)
    yield from map(doc.Paragraph, known_lines(group))
    at = f"{', ' if place(e) else ''}{place(e)}. Required: {' or '.join(e.required)}."
    case = doc.Code(e.case)
    yield doc.Paragraph((f"{group.verdict.upper()} ", case, f" on {group.backend}{at}"))
    if e.why:
        yield doc.Paragraph(f"Why this case is there: {e.why}")
    if e.said:
        yield doc.Paragraph(e.said)
    if e.detail:
        yield doc.Pre(e.detail)
    if e.small:
        label = f"Chart of the probabilities, {name}"
        yield doc.Picture(label, CHART, partial(_stages, e.small))
        case_lines = doc.Pre(lines_of(e.small.case))
        yield doc.Fold("The smallest input as a case of a suite", [case_lines])
    yield from (doc.Paragraph("Replay:"), doc.Pre(e.replay))


def _values(at: Small | Example) -> Iterator[doc.Block]:
    rows: list[doc.Cells] = [[*side] for side in side_by_side(at)]
    if isinstance(at, Small) and at.got != at.expected:
        left = [", ".join(map(str, ids)) or "none" for ids in (at.got, at.expected)]
        rows.append(["ids left", *(doc.TableCell(ids, kind="wide") for ids in left)])
    if rows:
        yield doc.Table("First difference", "What | Got | Expected", rows)
    yield from (doc.Paragraph(f"{key}: {value}") for key, value in other_values(at))


def _stages(small: Small, salt: str) -> str:
    """Draw what the reference does to a small input, and what the backend left."""
    left = None
    if set(small.got) != set(small.expected) and small.stage_index is not None:
        left = Left(small.got, small.step or 0, small.stage_index)
    return of_counterexample(small.case, salt, left)
