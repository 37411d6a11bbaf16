"""What `sampler-parity history show` prints."""

from sampler_parity.harness.comparison.history import Run
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.history.model import History


def _cases(run: Run) -> str:
    return f"{run.met:,}/{run.cases:,} cases as required" if run.cases else "no case"


def terminal_lines(report: History) -> list[str]:
    lines = [
        f"history  {run.started}   {one_line(run.name, 40)}   {_cases(run)}"
        f"   {one_line(run.cpu, 60)}"
        for run in report.runs
    ]
    return [*lines, f"history  {len(report.runs):,} runs, {len(report.figures):,} figures"]
