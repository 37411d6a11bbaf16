"""The comparison as HTML."""

from sampler_parity.reports.pages.compare.model import Comparison
from sampler_parity.reports.pages.compare.words import (
    cell,
    command,
    headline,
    name,
    place,
    ratio,
    ratio_class,
    value,
)
from sampler_parity.reports.render.html import template

SHOWN = 100  # rows of a table


def html(report: Comparison) -> str:
    return template("compare.html.j2").render(
        report=report,
        shown=SHOWN,
        column=lambda i: name(report, i),
        state=cell,
        replay=lambda row: command(report, row),
        value=value,
        ratio=ratio,
        ratio_class=ratio_class,
        headline=headline(report),
        place_of=[place(report, i) for i in range(len(report.columns))],
    )
