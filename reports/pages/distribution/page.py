"""The distribution page: do draws follow the exact distribution?"""

from collections import Counter
from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.statistics.plan import PARTS
from sampler_parity.reports.document import JunitTest, Outcome
from sampler_parity.reports.labels import interval, short, state_of
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.distribution.build import report_of
from sampler_parity.reports.pages.distribution.document import document, over
from sampler_parity.reports.pages.distribution.model import (
    CellRow,
    DistributionReport,
    DistributionSection,
)
from sampler_parity.reports.summary import PageFinding, PageSummary, anchor

SHOWN = 5


def summary(report: DistributionReport) -> PageSummary:
    """Return what failed, a line for each backend, and what the tests would have caught."""
    parts = report.sections
    met, pairs = sum(part.met for part in parts), sum(part.pairs for part in parts)
    skipped = sum(part.skipped for part in parts)
    as_required = f"{met:,}/{pairs:,} distribution tests"
    more = f"   {skipped:,} skipped" if skipped else ""
    wall_s = sum(part.wall_s for part in parts)
    return PageSummary(
        report.ok,
        [f"{as_required} as required"],
        lines=[line for part in parts for line in _lines(part)],
        last=f"draws    {as_required}{more}   {wall_s:,.1f} s   {state_of(report.ok)}",
        findings=[
            PageFinding(
                text=f"{row.cell} is {row.decision}, on {row.backend}",
                anchor=anchor(row.cell, row.backend, of=i, among=len(parts)),
            )
            for i, part in enumerate(parts)
            for row in part.rows
            if not row.met
        ],
    )


def _lines(part: DistributionSection) -> Iterator[str]:
    enough = part.budget / PARTS * (1 + part.skipped / max(1, part.pairs))
    for row in [row for row in part.rows if not row.met][:SHOWN]:
        by_p = row.decision != "different" or row.holm <= enough
        yield (
            f"{row.decision.upper()} {one_line(row.cell)}   {one_line(row.backend)}:"
            f" {interval(row.estimate, row.low, row.high)}, margin {short(row.margin) or 'none'},"
            f" {f'p = {short(row.holm)}' if by_p else 'decided by the interval'},"
            f" {row.draws:,} draws"
        )
        if row.detail:
            yield f"  {one_line(row.detail)}"
        yield f"  replay: {row.replay}"
    for name in sorted({row.backend for row in part.rows}):
        rows = [row for row in part.rows if row.backend == name]
        yield "   ".join(["draws   ", one_line(name, 80), *_counts(rows)])
    if part.rows:
        yield f"budget   {part.budget:.0e} for all that the run states, over {part.pairs} tests"
    for cell, row in sorted({row.cell: row for row in part.rows}.items()):
        if row.smallest_caught is not None and row.what in ("frequency", "coupled"):
            yield f"  {cell}: {short(row.smallest_caught)} over {over(row)}"


def _counts(rows: list[CellRow]) -> list[str]:
    counted = Counter(row.decision for row in rows)
    counts = [f"{counted.pop('equivalent', 0)}/{len(rows)} equivalent"]
    counts += [f"{n} {decision}" for decision, n in counted.items()]
    return [*counts, f"{sum(row.draws for row in rows):,} draws"]


def junit_tests(report: DistributionReport) -> Iterator[JunitTest]:
    """Yield a test for every cell on a backend."""
    for section in report.sections:
        for row in section.rows:
            name = f"{row.suite} on {row.backend}"
            suite, started = f"{section.bundle}: {name}", section.run.started
            test = JunitTest(suite, started, row.cell, name, row.wall_s)
            message = f"{row.decision}, required {' or '.join(row.required)}; {row.detail}"
            if not row.met:
                outcome: Outcome = "error" if row.decision in ("crashed", "timeout") else "failure"
                yield test.ended(outcome, row.decision, message, f"replay: {row.replay}")
            elif row.decision == "unsupported":
                yield test.ended("skipped", "unsupported", message)
            else:
                yield test


DISTRIBUTION = Page[list[Bundle], DistributionReport](
    stem="distribution",
    title="Distribution",
    answers="Do the draws of every backend follow the exact distribution of its chain?",
    model=DistributionReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
)
