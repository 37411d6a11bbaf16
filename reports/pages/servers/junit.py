"""The servers as JUnit XML: a test for every parameter and fact of each."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.pages.servers.labels import evidence
from sampler_parity.reports.pages.servers.model import ServersReport
from sampler_parity.reports.writers.junit import JunitDocument, outcome


def junit(_: list[Bundle], report: ServersReport) -> str:
    document = JunitDocument()
    for server in report.servers:
        label = f"{server.bundle}: {server.name}"
        for cell in server.cells:
            test = document.test(label, server.started, cell.name, cell.group, 0.0)
            if cell.verdict == "skipped":
                outcome(test, "skipped", cell.verdict, cell.evidence)
            elif not cell.met:
                outcome(test, "failure", cell.verdict, evidence(cell), cell.curl)
    return document.text()
