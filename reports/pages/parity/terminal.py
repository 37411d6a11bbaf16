"""What a run prints at its end: the first failures, then a line of counts for every backend."""

from sampler_parity.harness.foreign.printable import one_line
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.pages.parity.model import (
    BackendSummary,
    Configuration,
    Difference,
    Report,
    Section,
    Timing,
)
from sampler_parity.reports.pages.parity.words import place, side_by_side
from sampler_parity.reports.render.words import duration, number

SHOWN = 5
_ALWAYS: tuple[Verdict, ...] = ("diverged", "crashed")


def terminal_lines(report: Report) -> list[str]:
    """Of the bundle of a run: failures, backends, devices, speed."""
    (part,) = report.sections
    devices = report.devices.configurations if report.devices else []
    return [
        *_failures(part),
        *(_backend_line(s) for s in part.backends),
        *(_device_line(c) for c in devices if not c.unavailable),
        *_speed(part.timings),
    ]


def last_line(report: Report) -> str:
    """What a run ends with."""
    (part,) = report.sections
    return f"{_total(part)}   {part.wall_s:,.1f} s   {_state(part.ok)}"


def _state(ok: bool) -> str:
    return "ok" if ok else "FAILED"


def _total(part: Section) -> str:
    skipped = part.cases - part.cases_judged
    left = f"   {skipped:,} skipped" if skipped else ""
    return (
        f"cases    {part.cases_met:,}/{part.cases_judged:,} as required{left}"
        f"   {part.steps:,} steps"
    )


def _device_line(c: Configuration) -> str:
    parts = ["device", one_line(c.backend, 80)]
    if c.difference is not None and c.kl_max is not None:
        parts += [f"logits differ by up to {c.difference:.3g}", f"KL up to {c.kl_max:.3g} nats"]
        parts += [f"top-1 {c.top1:,}/{c.rows:,}"]
    if c.texts:
        parts.append(f"{c.parted:,}/{c.texts:,} texts part")
    return "   ".join(parts)


def _failures(part: Section) -> list[str]:
    lines = []
    labels = {summary.name: _label(summary) for summary in part.backends}
    for difference in part.failures[:SHOWN]:
        lines += _failure(difference, labels[difference.backend])
    for problem in part.problems[:SHOWN]:
        lines += [
            f"{problem.kind.upper()} {one_line(problem.case)}",
            f"  {one_line(problem.detail)}",
            f"  replay: {problem.replay}",
        ]
    left_out = max(0, len(part.failures) - SHOWN) + max(0, len(part.problems) - SHOWN)
    return [*lines, f"... and {left_out:,} more failures"] if left_out else lines


def _failure(difference: Difference, label: str) -> list[str]:
    at = place(difference)
    head = f"{difference.verdict.upper()} {one_line(difference.case)}   {label} vs reference"
    lines = [head + (f", {at}" if at else "")]
    for what, got, expected in side_by_side(difference):
        if got != expected:
            lines.append(f"  {what}: got {one_line(got)}, expected {one_line(expected)}")
    if "margin" in difference.values:
        lines.append(f"  margin: {one_line(number(difference.values['margin']))}")
    if difference.detail:
        lines.append(f"  {one_line(difference.detail)}")
    return [
        *lines,
        f"  required: {' or '.join(difference.required)}",
        f"  replay: {difference.replay}",
    ]


def _label(summary: BackendSummary) -> str:
    return one_line(f"{summary.name} {summary.version}".strip(), 80)


def _backend_line(summary: BackendSummary) -> str:
    counts = summary.tally
    parts = [f"{counts.verdicts.get('identical', 0):,}/{counts.judged:,} identical"]
    parts += [
        f"{counts.verdicts.get(verdict, 0):,} {verdict}"
        for verdict in dict.fromkeys([*counts.verdicts, *_ALWAYS])
        if verdict != "identical"
    ]
    if counts.not_run:
        parts.append(f"{counts.not_run:,} not run")
    if summary.unavailable:
        parts.append(f"unavailable: {one_line(summary.unavailable, 120)}")
    return "   ".join(["parity", _label(summary), *parts])


def _speed(timings: list[Timing]) -> list[str]:
    if not timings:
        return []
    met = sum(row.rule.met is True for row in timings)
    lines = [f"speed    {met:,}/{len(timings):,} within 2 x llama.cpp + 50 µs"]
    missed = [row for row in timings if row.rule.met is not True]
    lines += [
        f"  {one_line(row.sampler)} V={row.n_vocab:,}   {_why(row)}" for row in missed[:SHOWN]
    ]
    left_out = len(missed) - SHOWN
    return [*lines, f"  ... and {left_out:,} more"] if left_out > 0 else lines


def _why(row: Timing) -> str:
    if row.rule.limit_ns is None:
        return f"not judged: {row.rule.why}"
    median_ns = next(b.median_ns for b in row.backends if b.name == "reference")
    return f"reference {duration(median_ns)}, limit {duration(row.rule.limit_ns)}"
