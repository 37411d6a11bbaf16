"""The lines that a run prints last: the worst groups of failures, then counts for every backend."""

from sampler_parity.harness.failures.format_difference import lines
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.labels import duration, state_of
from sampler_parity.reports.pages.parity import model
from sampler_parity.reports.pages.parity.merged import MergedFinding, agreement_lines, merged

SHOWN = 5
BRIEF = 20
_REQUIRED: set[Verdict] = {"diverged", "crashed", "timeout"}  # which look like failures
_ALWAYS: tuple[Verdict, ...] = ("diverged", "crashed")


def terminal_lines(report: model.Report) -> list[str]:
    """Return failures, backends, devices, speed."""
    lines: list[str] = []
    for part in report.sections:
        lines += _failures(part)
        lines += [_backend_line(s, _failing(part, s.name)) for s in part.backends]
    devices = report.devices.configurations if report.devices else []
    lines += [_device_line(c) for c in devices if not c.unavailable]
    return lines + [line for part in report.sections for line in _speed(part.timings)]


def last_line(report: model.Report) -> str:
    """Return what a run ends with."""
    parts = report.sections
    met, judged = sum(p.cases_met for p in parts), sum(p.cases_judged for p in parts)
    skipped = sum(p.cases for p in parts) - judged
    left = f"   {skipped:,} skipped" if skipped else ""
    steps, wall_s = sum(p.steps for p in parts), sum(p.wall_s for p in parts)
    ok = state_of(all(part.ok for part in parts))
    cases = f"cases    {met:,}/{judged:,} as required{left}"
    return f"{cases}   {steps:,} steps   {wall_s:,.1f} s   {ok}"


def _device_line(c: model.Configuration) -> str:
    parts = ["device", one_line(c.backend, 80)]
    if c.difference is not None and c.kl_max is not None:
        parts += [f"logits differ by up to {c.difference:.3g}", f"KL up to {c.kl_max:.3g} nats"]
        parts += [f"top-1 {c.top1:,}/{c.rows:,}"]
    if c.texts:
        parts.append(f"{c.parted:,}/{c.texts:,} texts part")
    return "   ".join(parts)


def _failures(part: model.Section) -> list[str]:
    """Return the worst findings in full, and a line for each other."""
    labels = {summary.name: _label(summary) for summary in part.backends}

    def on(found: MergedFinding) -> str:
        return ", ".join(labels[name] for name in found.backends)

    reported = merged(part.reported)
    shown = [*agreement_lines(part.agreeing)]
    for found in reported[:SHOWN]:
        first = found.shown.model_copy(update={"text": found.text})
        shown += lines(first, on(found))
    rest = reported[SHOWN:]
    brief = [*rest[:BRIEF], *merged(part.folded)]
    shown += [f"{one_line(found.text)}   {on(found)}" for found in brief]
    for problem in part.problems[:SHOWN]:
        shown += [
            f"{problem.kind.upper()} {one_line(problem.case)}",
            f"  {one_line(problem.detail)}",
            f"  replay: {problem.replay}",
        ]
    left_out = max(0, len(rest) - BRIEF) + max(0, len(part.problems) - SHOWN)
    return [*shown, f"... and {left_out:,} more groups of failures"] if left_out else shown


def _label(summary: model.ParityBackend) -> str:
    return one_line(f"{summary.name} {summary.version}".strip(), 80)


def _failing(part: model.Section, backend: str) -> set[Verdict]:
    return {group.verdict for group in (*part.reported, *part.folded) if group.backend == backend}


def _backend_line(summary: model.ParityBackend, failing: set[Verdict]) -> str:
    """Return the counts of a backend. failing: verdicts that are not as required; a required crash
    is not one.
    """
    counts = summary.tally
    parts = [f"{counts.verdicts.get('identical', 0):,}/{counts.judged:,} identical"]
    parts += [
        f"{counts.verdicts.get(verdict, 0):,} {verdict}"
        + (
            " as required"
            if verdict in _REQUIRED - failing and counts.verdicts.get(verdict)
            else ""
        )
        for verdict in dict.fromkeys([*counts.verdicts, *_ALWAYS])
        if verdict != "identical"
    ]
    if counts.not_run:
        parts.append(f"{counts.not_run:,} not run")
    if summary.unavailable:
        parts.append(f"unavailable: {one_line(summary.unavailable, 120)}")
    return "   ".join(["parity", _label(summary), *parts])


def _speed(timings: list[model.Timing]) -> list[str]:
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


def _why(row: model.Timing) -> str:
    if row.rule.limit_ns is None:
        return f"not judged: {row.rule.why}"
    median_ns = next(b.median_ns for b in row.backends if b.name == "reference")
    return f"reference {duration(median_ns)}, limit {duration(row.rule.limit_ns)}"
