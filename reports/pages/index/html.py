"""index.html."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.index.labels import (
    counted,
    heat,
    heat_class,
    held,
    required,
    total,
)
from sampler_parity.reports.pages.index.model import Index
from sampler_parity.reports.writers.html import template

FINDINGS = 12  # shown at once; the others are folded
ROWS = 12  # of the table of backends that are shown at once


def html(index: Index) -> str:
    page = template(
        "index.html.j2",
        counted=counted,
        heat=heat,
        heat_class=heat_class,
        held=held,
        required=required,
        total=total,
        one_line=one_line,
    )
    return page.render(index=index, most=FINDINGS, rows=ROWS)
