"""The history page: how did verdicts and figures change from run to run?"""

from pathlib import Path

from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.history.build import report_of
from sampler_parity.reports.pages.history.html import html
from sampler_parity.reports.pages.history.markdown import markdown
from sampler_parity.reports.pages.history.model import History
from sampler_parity.reports.pages.history.terminal import terminal_lines

HISTORY = Page[Path, History](
    stem="history",
    title="History",
    answers="How did verdicts and figures change from run to run?",
    model=History,
    build=report_of,
    old=OldForms(
        html=html,
        markdown=markdown,
        terminal_lines=terminal_lines,
    ),
)
