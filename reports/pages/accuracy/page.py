"""The accuracy page: how far are probabilities and masses from exact ones?"""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import figure
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.accuracy.build import report_of
from sampler_parity.reports.pages.accuracy.document import document
from sampler_parity.reports.pages.accuracy.model import AccuracyReport, Row, ulps
from sampler_parity.reports.summary import PageSummary


def summary(report: AccuracyReport) -> PageSummary:
    """Return the largest errors of each backend, and where they are."""
    by_backend = {names: _largest(rows) for names, rows in report.backends.items()}
    headlines = [f"{backend}: {found}" for (backend, _), found in by_backend.items()]
    lines = [f"accuracy {one_line(name)}   {found}" for (name, _), found in by_backend.items()]
    return PageSummary(None, headlines, lines)


def _largest(rows: list[Row]) -> str:
    measured = [(row.figures, row.place) for row in rows if row.figures]
    if not measured:
        return one_line(rows[0].failed)
    of_p, at = max((figures.p.largest, place) for figures, place in measured)
    text = f"p is off by up to {ulps(of_p)} ULPs ({at})"
    kept, at = max((abs(figures.kept_share), place) for figures, place in measured)
    return f"{text}, the kept mass by {figure(kept)} ({at})" if kept else text


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
