"""The skip-ratio page: what does a token trie save against a grammar?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.skip_ratio.build import findings, headlines, report_of
from sampler_parity.reports.pages.skip_ratio.html import html
from sampler_parity.reports.pages.skip_ratio.markdown import markdown
from sampler_parity.reports.pages.skip_ratio.model import SkipRatioReport
from sampler_parity.reports.pages.skip_ratio.terminal import terminal_lines

SKIP_RATIO = Page[list[Bundle], SkipRatioReport](
    stem="skip-ratio",
    title="Skip ratio",
    answers="What does a token trie save against a grammar, and from which decode time on?",
    model=SkipRatioReport,
    build=report_of,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
        headlines=headlines,
        findings=findings,
        ok=lambda report: report.ok,
    ),
)
