"""The platforms page as HTML."""

from sampler_parity.reports.pages.platforms import labels as words
from sampler_parity.reports.pages.platforms.build import headlines
from sampler_parity.reports.pages.platforms.model import PlatformsReport
from sampler_parity.reports.summary import anchor
from sampler_parity.reports.writers.html import template


def html(report: PlatformsReport) -> str:
    page = template("platforms.html.j2", words=words, anchor=anchor)
    return page.render(report=report, headlines=headlines(report))
