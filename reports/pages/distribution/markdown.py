"""The distribution page as Markdown."""

from sampler_parity.harness.sanitize.markup import code
from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.distribution.labels import interval
from sampler_parity.reports.pages.distribution.model import DistributionReport, DistributionSection
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: DistributionReport) -> str:
    """Fewer rows where there are many; the worst stand first."""
    return fitting(_text(report, shown) for shown in (60, 20, 5, 0))


def _text(report: DistributionReport, shown: int) -> str:
    lines = [f"# Distribution report: {'ok' if report.ok else 'FAILED'}", ""]
    for section in report.sections:
        lines += _section(section, shown)
    return "\n".join(lines) + "\n"


def _section(part: DistributionSection, shown: int) -> list[str]:
    lines = [f"## {code(part.bundle)}: {part.met:,}/{part.pairs:,} as required", ""]
    head = ["cell", "backend", "decision", "margin", "estimate [interval]", "draws", "p (Holm)"]
    rows = [
        [
            code(row.cell),
            code(row.backend),
            row.decision if row.met else f"**{row.decision}**",
            short(row.margin),
            interval(row),
            f"{row.draws:,}",
            short(row.holm),
        ]
        for row in part.rows[:shown]
    ]
    lines += [f"Error budget of the run: {part.budget:.0e}.", "", *table(head, rows), ""]
    left_out = len(part.rows) - shown
    lines += [f"{left_out:,} more rows: see the HTML report.", ""] if left_out > 0 else []
    failed = [row for row in part.rows[:shown] if not row.met]
    lines += [f"- {code(r.cell)} on {code(r.backend)}: {code(r.replay, 400)}" for r in failed]
    return [*lines, ""] if failed else lines
