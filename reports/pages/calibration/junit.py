"""The calibration as JUnit XML: a test for every claim."""

from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.writers.junit import JunitDocument, outcome


def junit(report: CalibrationReport) -> str:
    document = JunitDocument()
    for section in report.sections:
        label, started = f"{section.bundle}: calibration", section.run.started
        for claim in section.result.claims:
            test = document.test(label, started, claim.text, "calibration", 0.0)
            if not claim.met:
                outcome(test, "failure", "claim", f"{claim.text}: {claim.seen}")
    return document.text()
