"""The platforms page: does a seed repeat on another platform, and what parts it?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.platforms.build import findings, headlines, report_of
from sampler_parity.reports.pages.platforms.html import html
from sampler_parity.reports.pages.platforms.markdown import markdown
from sampler_parity.reports.pages.platforms.model import PlatformsReport
from sampler_parity.reports.pages.platforms.terminal import terminal_lines

PLATFORMS = Page[list[Bundle], PlatformsReport](
    stem="platforms",
    title="Platforms",
    answers="Does a seed repeat on another platform, and what parts it?",
    model=PlatformsReport,
    build=report_of,
    missed=False,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
        headlines=headlines,
        findings=findings,
        ok=lambda report: report.ok,
    ),
)
