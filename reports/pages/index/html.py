"""index.html."""

from sampler_parity.harness.foreign.printable import one_line
from sampler_parity.reports.pages.index.model import Index
from sampler_parity.reports.pages.index.words import counted
from sampler_parity.reports.render.html import template


def html(index: Index) -> str:
    return template("index.html.j2").render(index=index, counted=counted, one_line=one_line)
