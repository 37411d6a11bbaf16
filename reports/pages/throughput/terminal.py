"""What a run of timings prints at its end: a line a backend, and what must not be and is."""

from collections import Counter

from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.throughput.labels import rate, ratio, share, slope_words
from sampler_parity.reports.pages.throughput.model import (
    ThroughputReport,
    ThroughputSection,
    WidthRow,
)


def terminal_lines(report: ThroughputReport) -> list[str]:
    """Of the bundle of a run."""
    (section,) = report.sections
    findings = [slope for slope in section.slopes if slope.finding]
    return [
        *_verdicts(section),
        *(_width(row) for row in section.widths),
        *(
            f"finding  {one_line(s.group, 80)} on {one_line(s.backend, 80)}: {slope_words(s)}"
            for s in findings
        ),
        *(_check(section.check) if section.check else []),
    ]


def _verdicts(section: ThroughputSection) -> list[str]:
    """Of every backend: how many chains were slower, faster, alike, undecided."""
    by_backend: dict[str, Counter[str]] = {}
    for row in section.timings:
        if row.compared:
            by_backend.setdefault(row.backend, Counter())[row.compared.verdict] += 1
    return [
        f"speed    {one_line(name, 80)}   "
        + "   ".join(f"{n:,} {verdict}" for verdict, n in verdicts.items())
        for name, verdicts in by_backend.items()
    ]


def _width(row: WidthRow) -> str:
    what = f"{one_line(row.model, 40)}, {one_line(row.chain, 40)}, {row.sequences} at once"
    where = one_line(row.backend, 80)
    line = f"tokens/s {what} on {where}: {rate(row.generation)}, sampling {share(row.share)}"
    if row.of_one is None:
        return line
    return f"{line}; a sequence takes {ratio(row.of_one)} of one alone"


def _check(check: TimingCheckResult) -> list[str]:
    lines = []
    for curve in check.curves:
        slower = ", ".join(
            f"{n}/{curve.trials} after {s:.2g} s"
            for n, s in zip(curve.slower, curve.seconds, strict=True)
        )
        lines.append(f"slower   by {curve.percent:g}%: {slower}")
    alarms = max(s + f for s, f in zip(check.curves[0].slower, check.curves[0].faster, strict=True))
    state = "ok" if check.met else "FAILED"
    stated = check.alarm_rate * check.curves[0].trials
    return [*lines, f"alarms   {alarms}/{check.curves[0].trials}, stated {stated:g}   {state}"]
