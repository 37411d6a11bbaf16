"""The parity page in index.html: its findings, and samplers by backend as a map."""

from collections import defaultdict

from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.failures.groups import Group, rank
from sampler_parity.reports.pages.parity.labels import card_id
from sampler_parity.reports.pages.parity.merged import agreement_lines, merged
from sampler_parity.reports.pages.parity.model import Report, Section, Tally
from sampler_parity.reports.summary import HeatCell, HeatMap, HeatRow, PageFinding

_ORDER = list(ALL_SAMPLERS)


def findings(report: Report) -> list[PageFinding]:
    """Return the findings, the worst first, then the cases without a result."""
    several = len(report.sections) > 1
    of_all = [(part, found) for part in report.sections for found in merged(_failing(part))]
    lines = [
        PageFinding(
            text=f"{f'{part.bundle}: ' if several else ''}{found.sentence}",
            anchor=card_id(report, part, found),
            replay=found.shown.example.replay,
            minimized=found.shown.example.small,
        )
        for part, found in sorted(of_all, key=lambda pair: rank(pair[1].groups[0]))
    ]
    for number, part in enumerate(report.sections, 1):
        where = f"{part.bundle}: " if several else ""
        for text in agreement_lines(part.agreeing):
            place = f"b{number}-agreement"
            lines.append(PageFinding(text=f"{where}{text}", anchor=place, fails=False))
        if part.problems:
            text = f"{where}{len(part.problems):,} cases without a result"
            lines.append(PageFinding(text=text, anchor=f"b{number}-failures"))
    if report.matrix and report.matrix.unexplained:
        text = f"{report.matrix.unexplained:,} results are not explained"
        lines.append(PageFinding(text=text, anchor="matrix"))
    return lines


def heat_map(report: Report) -> HeatMap | None:
    """Return the map over all bundles; None without a case."""
    backends = list(dict.fromkeys(s.name for part in report.sections for s in part.backends))
    tallies: dict[tuple[str, str], list[Tally]] = defaultdict(list)
    worst: dict[tuple[str, str], tuple[Group, str]] = {}
    for part in report.sections:
        for row in part.matrix:
            for name, tally in row.backends.items():
                tallies[row.key, name].append(tally)
        for at, (group, place) in _worst(report, part).items():
            if at not in worst or rank(group) < rank(worst[at][0]):
                worst[at] = group, place
    rows = [
        HeatRow(
            sampler=sampler,
            cells=[_cell(tallies[sampler, b], worst.get((sampler, b))) for b in backends],
        )
        for sampler in dict.fromkeys(sampler for sampler, _ in tallies)
    ]
    return HeatMap(stem="parity", backends=backends, rows=sorted(rows, key=_rank)) if rows else None


def _failing(part: Section) -> list[Group]:
    """Return the groups of failures; a skipped case is no failure."""
    return [group for group in [*part.reported, *part.folded] if group.verdict != "skipped"]


def _worst(report: Report, part: Section) -> dict[tuple[str, str], tuple[Group, str]]:
    """Return, by sampler and backend, the worst group that counts there, and its place."""
    samplers = {(d.case, d.backend): d.samplers for d in part.differences}
    worst: dict[tuple[str, str], tuple[Group, str]] = {}
    for found in merged(_failing(part)):
        place = card_id(report, part, found)
        for group in found.groups:
            for case in group.cases:
                chain = samplers[case, group.backend]
                for sampler in [group.stage] if group.stage in chain else chain:
                    at = sampler, group.backend
                    if at not in worst or rank(group) < rank(worst[at][0]):
                        worst[at] = group, place
    return worst


def _cell(tallies: list[Tally], worst: tuple[Group, str] | None) -> HeatCell:
    judged = sum(t.judged for t in tallies)
    failing = judged - sum(t.met for t in tallies)
    identical = sum(t.verdicts.get("identical", 0) for t in tallies)
    return HeatCell(
        cases=judged,
        failing=failing,
        allowed=max(0, judged - failing - identical),
        skipped=sum(t.cases - t.judged for t in tallies),
        worst=worst[0].verdict if worst else None,
        anchor=worst[1] if worst else "",
    )


def _rank(row: HeatRow) -> tuple[float, int, str]:
    """Sort key: the largest share that fails first, then as the reference has them."""
    share = max((cell.failing / cell.cases for cell in row.cells if cell.cases), default=0.0)
    known = _ORDER.index(row.sampler) if row.sampler in ALL_SAMPLERS else len(_ORDER)
    return -share, known, row.sampler
