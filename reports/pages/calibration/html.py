"""The calibration page as HTML."""

from sampler_parity.reports.pages.calibration.chart import power
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.render.html import Markup, template
from sampler_parity.reports.render.words import short


def html(report: CalibrationReport) -> str:
    charts = [
        Markup(power(section.result.curves, f"power {i}"))  # escaped by Matplotlib
        for i, section in enumerate(report.sections)
    ]
    return template("calibration.html.j2", short=short).render(report=report, charts=charts)
