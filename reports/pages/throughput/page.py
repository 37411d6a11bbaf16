"""The throughput page: what does sampling cost, alone and while a model is decoded?"""

from collections import Counter
from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.throughput.build import report_of
from sampler_parity.reports.pages.throughput.document import document
from sampler_parity.reports.pages.throughput.labels import growth, rate, ratio, share
from sampler_parity.reports.pages.throughput.model import (
    ThroughputReport,
    ThroughputSection,
    WidthRow,
)
from sampler_parity.reports.summary import PageFinding, PageSummary


def summary(report: ThroughputReport) -> PageSummary:
    """Return what is compared; ok is what the self-check of the timings found, if there is one."""
    checks = [section.check.met for section in report.sections if section.check]
    return PageSummary(
        all(checks) if checks else None,
        [*_headlines(report)],
        lines=[line for section in report.sections for line in _lines(section)],
        findings=[*_findings(report)],
    )


def _headlines(report: ThroughputReport) -> Iterator[str]:
    timed = [row for section in report.sections for row in section.timings]
    widths = [row for section in report.sections for row in section.widths]
    for name, rows in (("timings", timed), ("generations", widths)):
        counted = Counter(row.compared.verdict for row in rows if row.compared)
        verdicts = ", ".join(f"{n:,} {verdict}" for verdict, n in counted.most_common())
        if rows:
            against = f": compared with the first backend {verdicts}" if verdicts else ""
            yield f"{len(rows):,} {name} on {len({r.backend for r in rows}):,} backends{against}"
    if widths:
        best = max(widths, key=lambda row: row.generation.value)
        most = f"{best.generation.value:,.0f} tokens/s with {best.sequences} sequences at once"
        yield f"most: {most}, {best.backend}, {best.model}"


def _findings(report: ThroughputReport) -> Iterator[PageFinding]:
    """Yield a self-check that fails, and what grows and must not."""
    for i, section in enumerate(report.sections, 1):
        if section.check and not section.check.met:
            text = "the self-check of the timings has more false alarms than are stated"
            yield PageFinding(text=text, anchor=f"b{i}-check")
        for slope in section.slopes:
            if slope.finding:
                grows = {"n_vocab": "vocabulary", "last_n": "history"}[slope.over]
                text = f"{slope.group} grows with the {grows} and must not, on {slope.backend}"
                yield PageFinding(text=text, anchor=f"b{i}-slopes", fails=False)


def _lines(section: ThroughputSection) -> Iterator[str]:
    """Yield a line for each backend, and what must not be and is."""
    by_backend: dict[str, Counter[str]] = {}
    for row in section.timings:
        if row.compared:
            by_backend.setdefault(row.backend, Counter())[row.compared.verdict] += 1
    for name, verdicts in by_backend.items():
        counts = [f"{n:,} {verdict}" for verdict, n in verdicts.items()]
        yield "   ".join([f"speed    {one_line(name, 80)}", *counts])
    yield from (_width(row) for row in section.widths)
    for s in section.slopes:
        if s.finding:
            yield f"finding  {one_line(s.group, 80)} on {one_line(s.backend, 80)}: {growth(s)}"
    if section.check:
        yield from _check(section.check)


def _width(row: WidthRow) -> str:
    what = f"{one_line(row.model, 40)}, {one_line(row.chain, 40)}, {row.sequences} at once"
    where = one_line(row.backend, 80)
    line = f"tokens/s {what} on {where}: {rate(row.generation)}, sampling {share(row.share)}"
    return f"{line}; a sequence takes {ratio(row.of_one)} of one alone" if row.of_one else line


def _check(check: TimingCheckResult) -> Iterator[str]:
    for curve in check.curves:
        slower = ", ".join(
            f"{n}/{curve.trials} after {s:.2g} s"
            for n, s in zip(curve.slower, curve.seconds, strict=True)
        )
        yield f"slower   by {curve.percent:g}%: {slower}"
    first = check.curves[0]
    alarms = max(s + f for s, f in zip(first.slower, first.faster, strict=True))
    stated = check.alarm_rate * first.trials
    yield f"alarms   {alarms}/{first.trials}, stated {stated:g}   {state_of(check.met)}"


THROUGHPUT = Page[list[Bundle], ThroughputReport](
    stem="throughput",
    title="Throughput",
    answers="What does sampling cost, alone and while a model is decoded, compared with llama.cpp?",
    model=ThroughputReport,
    build=report_of,
    document=document,
    summary=summary,
)
