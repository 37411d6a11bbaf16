"""The history page: how did verdicts and figures change from run to run?"""

from pathlib import Path

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.history.build import report_of
from sampler_parity.reports.pages.history.document import document
from sampler_parity.reports.pages.history.model import HistoryReport
from sampler_parity.reports.summary import PageSummary


def summary(report: HistoryReport) -> PageSummary:
    """Return a line for each run, as `sampler-parity history show` prints them."""
    lines = []
    for run in report.runs:
        cases = f"{run.met:,}/{run.cases:,} cases as required" if run.cases else "no case"
        name, cpu = one_line(run.name, 40), one_line(run.cpu, 60)
        lines.append(f"history  {run.started}   {name}   {cases}   {cpu}")
    total = f"history  {len(report.runs):,} runs, {len(report.figures):,} figures"
    return PageSummary(None, [], lines=[*lines, total])


HISTORY = Page[Path, HistoryReport](
    stem="history",
    title="History",
    answers="How did verdicts and figures change from run to run?",
    model=HistoryReport,
    build=report_of,
    document=document,
    summary=summary,
)
