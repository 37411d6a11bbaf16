"""The calibration page: what do the distribution tests get wrong, and what do they catch?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.calibration.build import report_of
from sampler_parity.reports.pages.calibration.document import document
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.pages.calibration.summary import junit_tests, summary

CALIBRATION = Page[list[Bundle], CalibrationReport](
    stem="calibration",
    title="Calibration",
    answers="How often do the distribution tests err, and which faults do they catch?",
    model=CalibrationReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
    missed=False,
)
