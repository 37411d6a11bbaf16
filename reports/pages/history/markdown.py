"""The history page as Markdown."""

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.pages.history.labels import counts, of, value
from sampler_parity.reports.pages.history.model import History
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: History) -> str:
    return fitting("\n".join(_lines(report, n, rows)) + "\n" for n, rows in ((6, 40), (3, 10)))


def _lines(report: History, recent: int, rows: int) -> list[str]:
    runs = [
        [
            safe(run.started),
            code(run.name),
            of(run.met, run.cases),
            of(run.tests_met, run.tests),
            code(run.version),
            code(run.cpu),
            code(run.digest[:12]),
        ]
        for run in report.runs[-rows:]
    ]
    head = ["started", "bundle", "cases as required", "tests as required", "version", "processor"]
    lines = [f"# History of {len(report.runs):,} runs", "", *table([*head, "SHA-256"], runs), ""]
    days = [safe(run.started[:10]) for run in report.runs[-recent:]]
    samplers = [
        [code(row.backend), code(row.sampler), *map(counts, row.runs[-recent:])]
        for row in report.samplers[:rows]
    ]
    figures = [
        [code(row.backend), code(row.id), *map(value, row.runs[-recent:])]
        for row in report.figures[:rows]
    ]
    lines += [*table(["backend", "sampler", *days], samplers), ""]
    return [*lines, *table(["backend", "figure", *days], figures)] if figures else lines
