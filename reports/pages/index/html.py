"""index.html."""

from sampler_parity.harness.foreign.printable import one_line
from sampler_parity.reports.pages.index.model import Index
from sampler_parity.reports.pages.index.words import counted, held, required, total
from sampler_parity.reports.render.html import template


def html(index: Index) -> str:
    page = template(
        "index.html.j2",
        counted=counted,
        held=held,
        required=required,
        total=total,
        one_line=one_line,
    )
    return page.render(index=index)
