"""The servers page as HTML."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.servers import labels as words
from sampler_parity.reports.pages.servers.build import headlines
from sampler_parity.reports.pages.servers.model import ServersReport
from sampler_parity.reports.summary import anchor
from sampler_parity.reports.writers.html import template

MOST = 12  # that are wrong and stand open, of a server


def html(report: ServersReport) -> str:
    page = template("servers.html.j2", words=words, anchor=anchor, one_line=one_line)
    return page.render(report=report, headlines=headlines(report), most=MOST)
