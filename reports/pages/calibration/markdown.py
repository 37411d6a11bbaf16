"""The calibration page as Markdown."""

from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: CalibrationReport) -> str:
    lines = [f"# Calibration of the distribution tests: {'ok' if report.ok else 'FAILED'}", ""]
    for section in report.sections:
        rows = [
            [safe(claim.text), safe(claim.seen), "yes" if claim.met else "**NO**"]
            for claim in section.result.claims
        ]
        lines += [f"## {code(section.bundle)}", "", *table(["calibration", "seen", "met"], rows)]
        lines += ["", *_peers(section.result)]
    return fitting(["\n".join(lines) + "\n"])


def _peers(calibration: CalibrationResult) -> list[str]:
    """What the pass rules of other engines let through: runs passed of runs (total variation)."""
    rules = list(calibration.peers[0].passed) if calibration.peers else []
    rows = [
        [
            safe(row.fault),
            *(f"{row.passed[r]:,}/{row.runs[r]:,} ({short(row.tv[r])})" for r in rules),
        ]
        for row in calibration.peers
    ]
    return [*table(["let through", *map(safe, rules)], rows), ""] if rows else []
