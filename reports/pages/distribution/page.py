"""The distribution page: do draws follow the exact law?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.distribution.build import findings, headlines, report_of
from sampler_parity.reports.pages.distribution.html import html
from sampler_parity.reports.pages.distribution.junit import junit
from sampler_parity.reports.pages.distribution.markdown import markdown
from sampler_parity.reports.pages.distribution.model import DistributionReport
from sampler_parity.reports.pages.distribution.terminal import last_line, terminal_lines

DISTRIBUTION = Page[list[Bundle], DistributionReport](
    stem="distribution",
    title="Distribution",
    answers="Do the draws of every backend follow the exact law of its chain?",
    model=DistributionReport,
    build=report_of,
    old=OldForms(
        html=html,
        markdown=markdown,
        junit=lambda bundles, report: junit(report),
        terminal_lines=terminal_lines,
        last_line=last_line,
        headlines=headlines,
        findings=findings,
        ok=lambda report: report.ok,
    ),
)
