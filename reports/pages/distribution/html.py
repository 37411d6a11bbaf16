"""The distribution page as HTML."""

from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.distribution.chart import margins
from sampler_parity.reports.pages.distribution.labels import interval, over
from sampler_parity.reports.pages.distribution.model import DistributionReport
from sampler_parity.reports.summary import anchor
from sampler_parity.reports.writers.html import Markup, template

CARDS = 8  # failures shown in full; the others are folded


def html(report: DistributionReport) -> str:
    charts = [
        Markup(margins(section.rows, f"margins {i}"))  # escaped by Matplotlib
        for i, section in enumerate(report.sections)
    ]
    words = {"short": short, "interval": interval, "over": over, "anchor": anchor}
    page = template("distribution.html.j2", **words)
    return page.render(report=report, charts=charts, cards=CARDS)
