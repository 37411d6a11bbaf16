"""The throughput page as HTML."""

from typing import Any

from sampler_parity.reports.pages.throughput.chart import by_sequences, by_vocabulary, detection
from sampler_parity.reports.pages.throughput.model import ThroughputReport
from sampler_parity.reports.pages.throughput.words import more, rate, ratio, share, verdict
from sampler_parity.reports.render.html import Markup, template


def html(report: ThroughputReport) -> str:
    charts = [
        [
            Markup(by_sequences(s.widths, f"widths {i}")),  # escaped by Matplotlib
            Markup(by_vocabulary(s.timings, f"sizes {i}")),
            Markup(detection(s.check, f"check {i}")),
        ]
        for i, s in enumerate(report.sections)
    ]
    words: dict[str, Any] = {"ratio": ratio, "rate": rate, "share": share}
    page = template("throughput.html.j2", **words, verdict=verdict, more=more)
    return page.render(report=report, charts=charts)
