"""The servers page: what does each server do with each parameter?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.servers.build import findings, headlines, report_of
from sampler_parity.reports.pages.servers.html import html
from sampler_parity.reports.pages.servers.junit import junit
from sampler_parity.reports.pages.servers.markdown import markdown
from sampler_parity.reports.pages.servers.model import ServersReport
from sampler_parity.reports.pages.servers.terminal import terminal_lines

SERVERS = Page[list[Bundle], ServersReport](
    stem="servers",
    title="Servers",
    answers="What does each server do with each parameter?",
    model=ServersReport,
    build=report_of,
    missed=False,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
        junit=junit,
        headlines=headlines,
        findings=findings,
        ok=lambda report: report.ok,
    ),
)
