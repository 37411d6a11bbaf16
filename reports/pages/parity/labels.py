"""Labels of the parity page: tallies of verdicts, their colour, and the places of groups."""

from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports import document as doc
from sampler_parity.reports.pages.parity.merged import MergedFinding
from sampler_parity.reports.pages.parity.model import Report, Section, Tally


def counts(tally: Tally) -> list[str]:
    """Return "n/N identical", then the other verdicts, the worst first."""
    if not tally.cases:
        return ["no case"]
    parts = [f"{tally.verdicts.get('identical', 0):,}/{tally.judged:,} identical"]
    others = [v for v in reversed(ORDER) if v != "identical" and v in tally.verdicts]
    parts += [f"{tally.verdicts[verdict]:,} {verdict}" for verdict in others]
    return [*parts, *([f"{tally.not_run:,} not run"] if tally.not_run else [])]


def tally_cell(tally: Tally, failed: bool = True) -> doc.TableCell:
    """Return the cell of a tally. failed: with how many cases are not as required."""
    *parts, last = counts(tally)
    n = tally.judged - tally.met
    shown = (last, " (", doc.Strong(f"{n:,} failed"), ")") if n and failed else last
    return doc.TableCell(doc.Lines([*parts, shown], "whole"), _tone(tally))


def _tone(tally: Tally) -> doc.Tone:
    """Return bad: a case is not as required. good: all identical. fair: all as required. quiet:
    none, or all were skipped."""
    if tally.met < tally.judged:
        return "bad"
    if not tally.judged:
        return "quiet"
    return "good" if tally.verdicts.get("identical", 0) == tally.judged else "fair"


def card_id(report: Report, section: Section, finding: MergedFinding) -> str:
    """Return the id of a finding: its anchor, after that of its bundle if there are several."""
    if len(report.sections) == 1:
        return finding.anchor
    return f"b{report.sections.index(section) + 1}-{finding.anchor}"
