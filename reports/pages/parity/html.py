"""The parity page as HTML."""

from typing import NamedTuple

from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.pages.parity.model import Difference, Report, Section, Tally
from sampler_parity.reports.pages.parity.speed_chart import ratios
from sampler_parity.reports.pages.parity.words import other_values, place, side_by_side
from sampler_parity.reports.render.html import Markup, template
from sampler_parity.reports.render.words import lines_of

FULL = 100  # differences shown in full; the rest are rows of a table


class Shown(NamedTuple):
    """The failures of a section: in full, and as rows."""

    full: list[Difference]
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
    )
    charts = [
        Markup(ratios(section.timings, f"section {i}"))  # escaped by Matplotlib
        for i, section in enumerate(report.sections)
    ]
    return page.render(report=report, charts=charts)


def shown(section: Section) -> Shown:
    """Every failure: the first FULL and those with a counterexample in full, the rest as rows."""
    full = [
        difference
        for i, difference in enumerate(section.failures)
        if i < FULL or difference.counterexample is not None
    ]
    in_full = set(map(id, full))
    return Shown(full, [d for d in section.failures if id(d) not in in_full])


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
