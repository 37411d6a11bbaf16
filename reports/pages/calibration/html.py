"""The calibration page as HTML."""

from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.calibration.chart import power
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.writers.html import Markup, template


def html(report: CalibrationReport) -> str:
    charts = [
        Markup(power(section.result.curves, f"power {i}"))  # escaped by Matplotlib
        for i, section in enumerate(report.sections)
    ]
    return template("calibration.html.j2", short=short).render(report=report, charts=charts)
