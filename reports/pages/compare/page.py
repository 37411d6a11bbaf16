"""The comparison: how do bundles differ, and what may explain it? It judges nothing."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.compare.build import report_of
from sampler_parity.reports.pages.compare.html import html
from sampler_parity.reports.pages.compare.labels import headline
from sampler_parity.reports.pages.compare.markdown import markdown
from sampler_parity.reports.pages.compare.model import Comparison
from sampler_parity.reports.pages.compare.terminal import terminal_lines

COMPARE = Page[list[Bundle], Comparison](
    stem="compare",
    title="Comparison",
    answers="How do bundles differ, and which facts of their machines may explain it?",
    model=Comparison,
    build=report_of,
    missed=False,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
        headlines=lambda report: [headline(report)],
    ),
)
