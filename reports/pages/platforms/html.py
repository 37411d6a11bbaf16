"""The platforms page as HTML."""

from sampler_parity.reports.pages.platforms import words
from sampler_parity.reports.pages.platforms.build import headlines
from sampler_parity.reports.pages.platforms.model import PlatformsReport
from sampler_parity.reports.render.html import template
from sampler_parity.reports.render.overview import anchor


def html(report: PlatformsReport) -> str:
    page = template("platforms.html.j2", words=words, anchor=anchor)
    return page.render(report=report, headlines=headlines(report))
