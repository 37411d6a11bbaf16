"""The distribution tests as JUnit XML: a test for every cell on a backend."""

from sampler_parity.reports.pages.distribution.model import DistributionReport
from sampler_parity.reports.writers.junit import JunitDocument, outcome


def junit(report: DistributionReport) -> str:
    document = JunitDocument()
    for section in report.sections:
        for row in section.rows:
            suite = f"{row.suite} on {row.backend}"
            label, started = f"{section.bundle}: {suite}", section.run.started
            test = document.test(label, started, row.cell, suite, row.wall_s)
            message = f"{row.decision}, required {' or '.join(row.required)}; {row.detail}"
            if not row.met:
                kind = "error" if row.decision in ("crashed", "timeout") else "failure"
                outcome(test, kind, row.decision, message, f"replay: {row.replay}")
            elif row.decision == "unsupported":
                outcome(test, "skipped", "unsupported", message)
    return document.text()
