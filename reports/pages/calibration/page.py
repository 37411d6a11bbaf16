"""The calibration page: what do the distribution tests get wrong, and what do they catch?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import OldForms, Page
from sampler_parity.reports.pages.calibration.build import findings, headlines, report_of
from sampler_parity.reports.pages.calibration.html import html
from sampler_parity.reports.pages.calibration.junit import junit
from sampler_parity.reports.pages.calibration.markdown import markdown
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.pages.calibration.terminal import last_line, terminal_lines

CALIBRATION = Page[list[Bundle], CalibrationReport](
    stem="calibration",
    title="Calibration",
    answers="How often do the distribution tests err, and which faults do they catch?",
    model=CalibrationReport,
    build=report_of,
    missed=False,
    old=OldForms(
        html=html,
        markdown=markdown,
        junit=lambda bundles, report: junit(report),
        terminal_lines=terminal_lines,
        last_line=last_line,
        headlines=headlines,
        findings=findings,
        ok=lambda report: report.ok,
    ),
)
