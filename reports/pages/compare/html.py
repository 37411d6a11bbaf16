"""The comparison as HTML."""

from sampler_parity.reports.pages.compare.labels import (
    apart_class,
    cell,
    change_class,
    column_class,
    command,
    differing,
    headline,
    name,
    place,
    ratio,
    ratio_class,
    state_class,
    value,
)
from sampler_parity.reports.pages.compare.model import Comparison
from sampler_parity.reports.writers.html import template

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
        change_class=change_class,
        column_class=lambda i: column_class(report, i),
        differing=lambda i: differing(report, i),
        apart_class=lambda row: apart_class(report, row),
        state_class=state_class(report),
        headline=headline(report),
        place_of=[place(report, i) for i in range(len(report.columns))],
    )
