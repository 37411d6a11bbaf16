"""The throughput page: what does sampling cost, alone and while a model is decoded?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.throughput.build import checked, findings, headlines, report_of
from sampler_parity.reports.pages.throughput.html import html
from sampler_parity.reports.pages.throughput.markdown import markdown
from sampler_parity.reports.pages.throughput.model import ThroughputReport
from sampler_parity.reports.pages.throughput.terminal import terminal_lines

THROUGHPUT = Page[list[Bundle], ThroughputReport](
    stem="throughput",
    title="Throughput",
    answers="What does sampling cost, alone and while a model is decoded, beside llama.cpp?",
    model=ThroughputReport,
    build=report_of,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
        headlines=headlines,
        findings=findings,
        ok=checked,
    ),
)
