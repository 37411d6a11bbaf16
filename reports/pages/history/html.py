"""The history page as HTML."""

from sampler_parity.reports.pages.history.build import identical_lines, ratio_lines
from sampler_parity.reports.pages.history.chart import trend
from sampler_parity.reports.pages.history.labels import counts, of, value
from sampler_parity.reports.pages.history.model import History
from sampler_parity.reports.writers.html import Markup, template

RECENT = 12  # runs that are columns of the tables; JSON has all


def html(report: History) -> str:
    labels = [run.started[:10] for run in report.runs]
    return template("history.html.j2").render(
        report=report,
        first=max(0, len(report.runs) - RECENT),
        identical=Markup(trend(labels, identical_lines(report), "share identical", "same")),
        ratios=Markup(trend(labels, ratio_lines(report), "ratio to the baseline", "ratios")),
        value=value,
        of=of,
        counts=counts,
    )
