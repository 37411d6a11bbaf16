"""The invariance page as HTML."""

from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.invariance.chart import by_width
from sampler_parity.reports.pages.invariance.model import InvarianceReport
from sampler_parity.reports.writers.html import Markup, template


def html(report: InvarianceReport) -> str:
    chart = Markup(by_width(report, "invariance"))  # escaped by Matplotlib
    return template("invariance.html.j2", figure=figure).render(report=report, chart=chart)
