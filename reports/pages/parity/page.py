"""The parity page: is every sampler of every backend the reference's?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.parity.build import headlines, report_of
from sampler_parity.reports.pages.parity.document import document
from sampler_parity.reports.pages.parity.junit import junit_tests
from sampler_parity.reports.pages.parity.model import Report
from sampler_parity.reports.pages.parity.overview import findings, heat_map
from sampler_parity.reports.pages.parity.terminal import last_line, terminal_lines
from sampler_parity.reports.summary import PageSummary


def tested(bundles: list[Bundle]) -> list[Bundle]:
    """Return those that hold cases, or nothing at all, which is a failure."""
    return [bundle for bundle in bundles if not bundle.has_no_case]


def summary(report: Report) -> PageSummary:
    """Return the worst groups of failures, and counts for every backend."""
    return PageSummary(
        report.ok,
        headlines(report),
        lines=terminal_lines(report),
        last=last_line(report),
        findings=findings(report),
        heat_map=heat_map(report),
    )


PARITY = Page[list[Bundle], Report](
    stem="parity",
    title="Parity",
    answers="Is every sampler on every backend the reference's, stage by stage and to the bit?",
    model=Report,
    build=lambda bundles: report_of(tested(bundles)) if tested(bundles) else None,
    document=document,
    summary=summary,
    junit_tests=lambda bundles, report: junit_tests(report, tested(bundles)),
)
