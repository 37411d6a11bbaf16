"""The invariance page: what do the texts beside it change in the logits of a text?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.invariance.build import headlines, report_of
from sampler_parity.reports.pages.invariance.html import html
from sampler_parity.reports.pages.invariance.markdown import markdown
from sampler_parity.reports.pages.invariance.model import InvarianceReport
from sampler_parity.reports.pages.invariance.terminal import terminal_lines

INVARIANCE = Page[list[Bundle], InvarianceReport](
    stem="invariance",
    title="Invariance",
    answers="What do the other texts of a batch change in the logits of a text?",
    model=InvarianceReport,
    build=report_of,
    html=html,
    markdown=markdown,
    terminal_lines=terminal_lines,
    headlines=headlines,
    missed=False,
)
