"""The calibration page: what do the distribution tests get wrong, and what do they catch?"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.document import JunitTest
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.calibration.build import report_of
from sampler_parity.reports.pages.calibration.document import document
from sampler_parity.reports.pages.calibration.model import CalibrationReport
from sampler_parity.reports.summary import PageFinding, PageSummary


def summary(report: CalibrationReport) -> PageSummary:
    """Return the claims that do not hold, and how many do."""
    parts = report.sections
    met = sum(part.met for part in parts)
    total = sum(len(part.result.claims) for part in parts)
    wall_s = sum(part.result.wall_s for part in parts)
    failed = [
        (i, claim)
        for i, part in enumerate(parts, 1)
        for claim in part.result.claims
        if not claim.met
    ]
    holds = f"{met:,}/{total:,} claims of the tests hold"
    return PageSummary(
        report.ok,
        [holds],
        lines=[f"NOT MET {claim.text}: {claim.seen}" for _, claim in failed],
        last=f"calibration   {holds}   {wall_s:,.1f} s   {state_of(report.ok)}",
        findings=[
            PageFinding(text=f"not met: {claim.text} ({claim.seen})", anchor=f"b{i}")
            for i, claim in failed
        ],
    )


def junit_tests(report: CalibrationReport) -> Iterator[JunitTest]:
    """Yield a test for every claim."""
    for part in report.sections:
        for claim in part.result.claims:
            suite = f"{part.bundle}: calibration"
            test = JunitTest(suite, part.run.started, claim.text, "calibration")
            failed = f"{claim.text}: {claim.seen}"
            yield test if claim.met else test.ended("failure", "claim", failed)


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
