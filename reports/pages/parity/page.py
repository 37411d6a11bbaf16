"""The parity page: is every sampler of every backend the reference's?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.parity.build import headlines, report_of
from sampler_parity.reports.pages.parity.html import html
from sampler_parity.reports.pages.parity.junit import junit
from sampler_parity.reports.pages.parity.markdown import markdown
from sampler_parity.reports.pages.parity.model import Report
from sampler_parity.reports.pages.parity.overview import findings, heat_map
from sampler_parity.reports.pages.parity.terminal import last_line, terminal_lines


def tested(bundles: list[Bundle]) -> list[Bundle]:
    """Those that hold cases, or nothing at all, which is a failure."""
    return [bundle for bundle in bundles if not bundle.has_no_case]


PARITY = Page[list[Bundle], Report](
    stem="parity",
    title="Parity",
    answers="Is every sampler on every backend the reference's, stage by stage and to the bit?",
    model=Report,
    build=lambda bundles: report_of(tested(bundles)) if tested(bundles) else None,
    old=OldForms(
        html=html,
        markdown=markdown,
        junit=lambda bundles, report: junit(report, tested(bundles)),
        terminal_lines=terminal_lines,
        last_line=last_line,
        headlines=headlines,
        findings=findings,
        heat_map=heat_map,
        ok=lambda report: report.ok,
    ),
)
