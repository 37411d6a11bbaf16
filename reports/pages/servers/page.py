"""The servers page: what does each server do with each parameter?"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.document import JunitTest
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.servers.build import report_of
from sampler_parity.reports.pages.servers.document import document, evidence_of, headlines
from sampler_parity.reports.pages.servers.model import ServersReport
from sampler_parity.reports.summary import PageFinding, PageSummary, anchor


def summary(report: ServersReport) -> PageSummary:
    """Return its headlines, and what is wrong or known to be."""
    lines = headlines(report)
    findings = [
        PageFinding(
            text=f"{server.name}: {cell.name}: {cell.verdict}: {cell.evidence}",
            anchor=anchor(server.name, server.bundle, cell.group, cell.name),
            fails=not cell.met,
        )
        for server in report.servers
        for cell in server.cells
        if cell.verdict != "skipped" and (cell.known or not cell.met)
    ]
    printed = [f"server   {line}" for line in lines]
    return PageSummary(report.ok, lines, lines=printed, findings=findings)


def junit_tests(report: ServersReport) -> Iterator[JunitTest]:
    """Yield a test for every parameter and fact of each server."""
    for server in report.servers:
        for cell in server.cells:
            suite = f"{server.bundle}: {server.name}"
            test = JunitTest(suite, server.started, cell.name, cell.group)
            if cell.verdict == "skipped":
                yield test.ended("skipped", cell.verdict, cell.evidence)
            elif not cell.met:
                yield test.ended("failure", cell.verdict, evidence_of(cell), cell.curl)
            else:
                yield test


SERVERS = Page[list[Bundle], ServersReport](
    stem="servers",
    title="Servers",
    answers="What does each server do with each parameter?",
    model=ServersReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
    missed=False,
)
