"""The skip-ratio page as HTML."""

from sampler_parity.harness.protocol.measured import DECODE_MS
from sampler_parity.reports.pages.skip_ratio.chart import by_decode, by_leaves
from sampler_parity.reports.pages.skip_ratio.labels import (
    leaves_of,
    model_words,
    percent,
    us,
    with_interval,
)
from sampler_parity.reports.pages.skip_ratio.model import SkipRatioReport
from sampler_parity.reports.writers.html import Markup, template


def html(report: SkipRatioReport) -> str:
    measured = [row for row in report.rows if row.measured is not None]
    return template("skip-ratio.html.j2").render(
        report=report,
        rows=measured,
        by_leaves=Markup(by_leaves(measured)),  # escaped by Matplotlib
        by_decode=Markup(by_decode(measured)),
        leaves_of=leaves_of,
        percent=percent,
        with_interval=with_interval,
        us=us,
        model=model_words(report),
        times=[f"{ms:g}" for ms in DECODE_MS],
    )
