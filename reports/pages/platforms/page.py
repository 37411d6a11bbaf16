"""The platforms page: does a seed repeat on another platform, and what parts it?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.platforms.build import report_of
from sampler_parity.reports.pages.platforms.document import document
from sampler_parity.reports.pages.platforms.labels import headlines
from sampler_parity.reports.pages.platforms.model import PlatformsReport
from sampler_parity.reports.summary import PageFinding, PageSummary, anchor


def summary(report: PlatformsReport) -> PageSummary:
    """Return its headlines, and the builds that are not as predicted."""
    lines = headlines(report)
    findings = [
        PageFinding(
            text=f"{build.name}: {build.judged - build.met:,} of {build.judged:,} cases are not as"
            f" the reference of {platform.name} predicts",
            anchor=anchor(platform.name),
        )
        for platform in report.platforms
        for build in platform.builds
        if build.met < build.judged
    ]
    printed = [f"platform {line}" for line in lines]
    return PageSummary(report.ok, lines, lines=printed, findings=findings)


PLATFORMS = Page[list[Bundle], PlatformsReport](
    stem="platforms",
    title="Platforms",
    answers="Does a seed repeat on another platform, and what parts it?",
    model=PlatformsReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
