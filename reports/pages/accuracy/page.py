"""The accuracy page: how far are probabilities and masses from exact ones?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import figure
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.accuracy.document import document, ulps
from sampler_parity.reports.pages.accuracy.model import AccuracyReport, AccuracyRow, report_of
from sampler_parity.reports.summary import PageSummary


def summary(report: AccuracyReport) -> PageSummary:
    """Return the largest errors of each backend, and where they are."""
    names = dict.fromkeys(row.backend for row in report.rows)
    of = {name: [row for row in report.rows if row.backend == name] for name in names}
    lines = [f"{one_line(name)}: {_largest(rows)}" for name, rows in of.items()]
    return PageSummary(None, lines, [f"accuracy {line}" for line in lines])


def _largest(rows: list[AccuracyRow]) -> str:
    measured = [row for row in rows if not row.found.failed]
    if not measured:
        return one_line(rows[0].found.failed)
    worst = max(measured, key=lambda row: row.found.p_largest)
    text = f"p is off by up to {ulps(worst.found.p_largest)} ULPs ({_place(worst)})"
    worst = max(measured, key=lambda row: abs(row.found.kept_share))
    kept = figure(abs(worst.found.kept_share))
    return f"{text}, the kept mass by {kept} ({_place(worst)})" if kept != "0" else text


def _place(row: AccuracyRow) -> str:
    return f"{one_line(row.sampler)}, V = {row.n_vocab:,}"


ACCURACY = Page[list[Bundle], AccuracyReport](
    stem="accuracy",
    title="Accuracy",
    answers="How far are probabilities and masses from exact ones?",
    model=AccuracyReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
