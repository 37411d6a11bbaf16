"""Findings of the parity page: groups of several backends with one cause as one finding, backends
that agree with each other, and a card or a fold for each finding, with some of its cases.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.failures.differing import FOLDED
from sampler_parity.harness.failures.format_difference import (
    differing_lines,
    in_one_line,
    known_lines,
    other_values,
    place,
    side_by_side,
)
from sampler_parity.harness.failures.groups import FailureExample, Group, Small
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import lines_of, several
from sampler_parity.reports.pages.parity.parity_model import (
    Agreement,
    ParityDifference,
    Report,
    Section,
)
from sampler_parity.reports.pictures.stages import CHART, of_minimized

AS_IF = "; as if: "
_MOST_NAMES = 6  # backends that a sentence names
_DIFFERENT = ("diverged", "explained", "boundary", "close", "undefined", "tied", "reordered")
# Findings of a page: so many in full, in folds, and as rows of a table.
CARDS, FOLDS, LINES = 5, 60, 400
# Cases of a finding in full and of a folded one.
CASES, FEW = 20, 5
# Characters of the smallest input, and of a row of a table.
LONGEST, ROW = 2000, 300
OPEN = 12  # folds that are shown at once
GROUPS = 20  # groups in Markdown, of each kind


@dataclass(frozen=True)
class MergedFinding:
    """One cause on one or more backends. groups: one for each backend, the worst first."""

    groups: Sequence[Group]

    @property
    def shown(self) -> Group:
        """Return the group whose example is shown: a known fault or a minimized input first."""
        return max(self.groups, key=lambda group: (bool(group.known), bool(group.example.small)))

    @property
    def backends(self) -> list[str]:
        return [group.backend for group in self.groups]

    @property
    def anchor(self) -> str:
        """Return an anchor that does not depend on how many cases each backend fails."""
        return min(group.anchor for group in self.groups)

    @property
    def text(self) -> str:
        """Return the sentence. Backends may differ in the number of cases and in known faults."""
        return "".join(self._parts())

    @property
    def sentence(self) -> str:
        """Return the sentence with its backends; several stand before the planted fault."""
        words, fault = self._parts()
        on = f", on {named(self.backends)}"
        return words + (on + fault if len(self.groups) > 1 else fault + on)

    def _parts(self) -> tuple[str, str]:
        """Return the sentence and, after it, the planted fault that does the same, or ""."""
        counts = sorted({len(group.cases) for group in self.groups})
        most = max(self.groups, key=lambda group: len(group.cases))
        words = most.text.partition(AS_IF)[0]
        if len(counts) > 1:
            words = f"{counts[0]:,} to {counts[-1]:,} {words.partition(' ')[2]}"
        backends = [group.backend for group in self.groups if group.known]
        of = f" (on {named(backends)})" if 0 < len(backends) < len(self.groups) else ""
        fault = self.shown.text.partition(AS_IF)[2]
        return words, f"{AS_IF.replace(':', f'{of}:')}{fault}" if fault else ""


def named(backends: Sequence[str]) -> str:
    """Return "a, b and c", or "a, b, c, d, e, f and 3 more"."""
    names = [*backends[:_MOST_NAMES]]
    if len(backends) > _MOST_NAMES:
        names.append(f"{len(backends) - _MOST_NAMES:,} more")
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def merged(groups: Iterable[Group]) -> list[MergedFinding]:
    """Return a finding for each cause, in the order of the groups. A backend is in it once."""
    result: list[list[Group]] = []
    by_kind: dict[tuple[Verdict, str, str], list[list[Group]]] = defaultdict(list)
    for group in groups:
        candidates = by_kind[group.verdict, group.stage, group.what]
        same = next((members for members in candidates if _joins(group, members)), None)
        if same is None:
            same = []
            result.append(same)
            candidates.append(same)
        same.append(group)
    return [MergedFinding(members) for members in result]


def _joins(group: Group, members: list[Group]) -> bool:
    return all(group.backend != m.backend and _same_cause(group, m) for m in members)


def _same_cause(a: Group, b: Group) -> bool:
    """Return whether the same planted faults explain both; without one of them, the same words."""
    if a.known and b.known:
        return {fault.name for fault in a.known} == {fault.name for fault in b.known}
    return _words(a) == _words(b)


def _words(group: Group) -> str:
    """Return the text without the number of cases and without the faults that do the same."""
    return group.text.partition(AS_IF)[0].partition(":")[2]


def agreements(cases: Iterable[CaseResult]) -> list[Agreement]:
    """Return the sets of backends that give one answer, which is not the reference's.

    A case counts where two backends or more answered it, all of them failed, and all have the same
    first difference: step, stage and values.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case in where(cases, lambda case: bool(_agreeing(case))):
        groups[_agreeing(case)].append(case.id)
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [Agreement(backends=[*names], cases=ids) for names, ids in ranked]


def _agreeing(case: CaseResult) -> tuple[str, ...]:
    answers = {
        name: result for name, result in case.backends.items() if result.verdict not in FOLDED
    }
    agrees = len(answers) > 1 and all(map(case.failed, answers)) and _one(list(answers.values()))
    return tuple(answers) if agrees else ()


def _one(results: list[BackendResult]) -> bool:
    first = results[0]
    return first.verdict in _DIFFERENT and all(_place(first) == _place(r) for r in results)


def _place(result: BackendResult) -> tuple[object, ...]:
    return result.verdict, result.step, result.stage, result.what, result.values, result.row


def agreement_lines(agreeing: Iterable[Agreement]) -> Iterator[str]:
    """Yield a sentence for each set of backends."""
    for same in agreeing:
        yield (
            f"{len(same.backends)} backends agree with each other and not with the reference in "
            f"{several(len(same.cases), 'case')}: {named(same.backends)}. At the first difference "
            "they have the same values."
        )


Rows = dict[tuple[str, str], ParityDifference]  # by case and backend


def failures(report: Report, section: Section) -> Iterator[doc.Block]:
    """Yield the worst findings in full, then folds, then a table of the others."""
    rows = {(d.case, d.backend): d for d in section.differences}
    reported, folded = merged(section.reported), merged(section.folded)
    cards, rest = reported[:CARDS], [*reported[CARDS:], *folded]
    for finding in cards:
        yield doc.Card(
            finding.sentence,
            card_id(report, section, finding),
            [*_smallest(finding), _members(finding, rows)],
        )
    if rest:
        blocks = [*_others(report, section, rest, rows)]
        yield doc.Fold(several(len(rest), "more finding"), blocks, len(rest) <= OPEN)


def _others(
    report: Report, section: Section, rest: Sequence[MergedFinding], rows: Rows
) -> Iterator[doc.Block]:
    """Yield a fold for each finding, without a picture, and a table of those after them."""
    plot = "sampler-parity explain BUNDLE CASE --plot FILE"
    yield doc.Paragraph(("The worst first. Pictures: ", doc.Code(plot)), "quiet")
    folds = FOLDS // len(report.sections)
    for finding in rest[:folds]:
        blocks = [*_smallest(finding, drawn=False), _members(finding, rows, FEW)]
        yield doc.Fold(finding.sentence, blocks, id=card_id(report, section, finding))
    if remaining := rest[folds:]:
        table = _lines(report, section, remaining)
        yield doc.Fold(f"{len(remaining):,} more findings, a row each", [table])


def _lines(report: Report, section: Section, rest: Sequence[MergedFinding]) -> doc.Table:
    rows = [
        doc.TableRow(
            [
                doc.TableCell(one_line(f.sentence, 300), kind="text"),
                doc.Code(one_line(f.shown.example.replay, 300)),
            ],
            card_id(report, section, f),
        )
        for f in rest
    ]
    caption = "A case of each; all cases are in the JSON."
    return doc.Table(
        caption,
        "Finding | Replay",
        rows,
        style="stacked",
        most_html=LINES // len(report.sections),
        what="findings",
    )


def brief(section: Section) -> doc.Table:
    """Return a row for each finding, the worst first."""
    reported, folded = merged(section.reported), merged(section.folded)
    # Markdown shows only the first `most` rows: both kinds must be among them
    ordered = [*reported[:GROUPS], *folded[:GROUPS], *reported[GROUPS:], *folded[GROUPS:]]
    rows = [_brief(finding) for finding in ordered]
    most = len(reported[:GROUPS]) + len(folded[:GROUPS])
    head, what = "Finding | Backend | Smallest | Replay", "groups of failures"
    return doc.Table("", head, rows, most=most, what=what)


def _brief(finding: MergedFinding) -> list[doc.Inline]:
    group = finding.shown
    example, text = group.example, doc.Untrusted(finding.text)
    parts: list[doc.Inline] = [doc.Name(example.case)]
    if example.small is not None:
        parts.append(doc.Name(in_one_line(example.small.case)))
    parts += map(doc.Untrusted, [*differing_lines(example.shown), *known_lines(group)])
    smallest = (parts[0], *(piece for part in parts[1:] for piece in ("; ", part)))
    sentence = text if group.verdict in FOLDED else doc.Strong(text)
    backends = doc.Lines([doc.Name(name) for name in finding.backends])
    return [sentence, backends, smallest, doc.Code(example.replay)]


def differences(caption: str, rows: Sequence[ParityDifference], most: int = CASES) -> doc.Table:
    """Return a table of cases that are not identical, with at most so many rows in HTML."""
    return doc.Table(
        caption,
        "Case | Backend | Verdict | Where | Got and expected | Replay",
        [
            [
                *(d.case, d.backend, d.verdict, place(d)),
                doc.TableCell(one_line(_both_sides(d), ROW), kind="wide"),
                doc.Code(d.replay),
            ]
            for d in rows
        ],
        style="stacked",
        most_html=most,
        what="cases",
    )


def _both_sides(d: ParityDifference) -> str:
    sides = [f"{what}: got {got}, expected {expected}" for what, got, expected in side_by_side(d)]
    return "; ".join(filter(None, [*sides, d.detail]))


def _members(finding: MergedFinding, differences_by: Rows, most: int = CASES) -> doc.Block:
    """Return the first results of a finding on its backends; a skipped case is no difference."""
    ats = [(case, group.backend) for group in finding.groups for case in group.cases]
    rows = [differences_by[at] for at in ats if at in differences_by]
    n = len(rows)
    label = f"All {n:,} results" if n <= most else f"{most} of {n:,} results"
    summary = "The one result" if n == 1 else label
    table = differences("Results of this finding, the smallest case first.", rows, most)
    return doc.Fold(summary, [table] if rows else [])


def _smallest(finding: MergedFinding, drawn: bool = True) -> Iterator[doc.Block]:
    """Yield the replay line, then the smallest input and what differs, next to its picture."""
    group = finding.shown
    e = group.example
    yield from (doc.Paragraph("Replay:"), doc.Pre(e.replay))
    facts = [*_facts(group)]
    picture = doc.Picture(
        f"Chart of the probabilities, {finding.anchor}", CHART, partial(_draw, e.small)
    )
    yield from [doc.Columns([facts, [picture]])] if drawn and e.small else facts
    if e.small:
        case_lines = doc.Pre(lines_of(e.small.case, LONGEST))
        yield doc.Fold("The smallest input as a case of a suite", [case_lines])


def _facts(group: Group) -> Iterator[doc.Block]:
    e = group.example
    if e.small:
        yield doc.Paragraph(
            ("Smallest input: ", doc.Code(one_line(in_one_line(e.small.case), LONGEST)))
        )
    yield from _values(e.shown)
    yield from map(doc.Paragraph, known_lines(group))
    at = f"{', ' if place(e) else ''}{place(e)}. Required: {' or '.join(e.required)}."
    case = doc.Code(e.case)
    yield doc.Paragraph((f"{group.verdict.upper()} ", case, f" on {group.backend}{at}"))
    yield doc.Paragraph(("Id: ", doc.Code(group.id)))
    if e.why:
        yield doc.Paragraph(f"Why this case is there: {e.why}")
    if e.said:
        yield doc.Paragraph(e.said)
    if e.detail:
        yield doc.Pre(e.detail)


def _values(at: Small | FailureExample) -> Iterator[doc.Block]:
    rows: list[doc.Cells] = [[*side] for side in side_by_side(at)]
    if isinstance(at, Small) and at.got != at.expected:
        remaining = [", ".join(map(str, ids)) or "none" for ids in (at.got, at.expected)]
        rows.append(["ids left", *remaining])
    if rows:
        yield doc.Table("First difference", "What | Got | Expected", rows, style="sides")
    yield from (doc.Paragraph(f"{key}: {value}") for key, value in other_values(at))


def _draw(small: Small | None, salt: str) -> str:
    return of_minimized(small, salt) if small else ""


def card_id(report: Report, section: Section, finding: MergedFinding) -> str:
    """Return the id of a finding: its anchor, after that of its bundle if there are several."""
    if len(report.sections) == 1:
        return finding.anchor
    return f"b{report.sections.index(section) + 1}-{finding.anchor}"
