"""The parity page as HTML."""

from typing import NamedTuple

from sampler_parity.harness.failures.format_difference import (
    in_one_line,
    known_lines,
    other_values,
    place,
    side_by_side,
)
from sampler_parity.harness.failures.groups import Group, Small
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.labels import lines_of
from sampler_parity.reports.pages.parity.model import Difference, Report, Section, Tally
from sampler_parity.reports.pages.parity.speed_chart import ratios
from sampler_parity.reports.pictures.stages import Left, of_counterexample
from sampler_parity.reports.writers.html import Markup, template

CARDS = 5  # groups shown in full: with more, what else is on the page lies screens away


class Found(NamedTuple):
    """A group with its cases, which of those that were skipped are no differences."""

    group: Group
    rows: list[Difference]


def html(report: Report) -> str:
    page = template(
        "parity.html.j2",
        lines_of=lines_of,
        other_values=other_values,
        place=place,
        side_by_side=side_by_side,
        counts=counts,
        cell_class=cell_class,
        shown=shown,
        card=card,
        in_one_line=in_one_line,
        stages=stages,
        known_lines=known_lines,
    )
    charts = [
        Markup(ratios(section.timings, f"section {i}"))  # escaped by Matplotlib
        for i, section in enumerate(report.sections)
    ]
    return page.render(report=report, charts=charts)


def shown(section: Section) -> tuple[list[Found], list[Found]]:
    """The groups that are worst, in full, and the others, folded."""
    of_group = {(d.case, d.backend): d for d in section.differences}
    told, folded = (
        [
            Found(g, [of_group[at] for case in g.cases if (at := (case, g.backend)) in of_group])
            for g in groups
        ]
        for groups in (section.told, section.folded)
    )
    return told[:CARDS], told[CARDS:] + folded


def card(report: Report, section: Section, group: Group) -> str:
    """The id of a group on the page: its anchor, behind that of its bundle where there are some."""
    if len(report.sections) == 1:
        return group.anchor
    return f"b{report.sections.index(section) + 1}-{group.anchor}"


def stages(small: Small, salt: str) -> Markup:
    """What the reference does to the probabilities of a small input, and what the backend left."""
    left = None
    if set(small.got) != set(small.expected) and small.stage_index is not None:
        left = Left(small.got, small.step or 0, small.stage_index)
    return Markup(of_counterexample(small.case, salt, left))


def counts(tally: Tally) -> list[tuple[str, str]]:
    """(verdict, "n/N" or "n"): identical first as n/N, then the others, the worst first."""
    if not tally.cases:
        return [("case", "no")]
    parts = [("identical", f"{tally.verdicts.get('identical', 0):,}/{tally.judged:,}")]
    others = [v for v in ORDER if v != "identical" and v in tally.verdicts]
    parts += [(verdict, f"{tally.verdicts[verdict]:,}") for verdict in reversed(others)]
    if tally.not_run:
        parts.append(("not run", f"{tally.not_run:,}"))
    return parts


def cell_class(tally: Tally) -> str:
    """bad: a case is not as required. good: all identical. fair: all as required. quiet: none, or
    all were skipped."""
    if tally.met < tally.judged:
        return "bad"
    if not tally.judged:
        return "quiet"
    return "good" if tally.verdicts.get("identical", 0) == tally.judged else "fair"
