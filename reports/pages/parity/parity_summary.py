"""The parity page in other places: findings and the map of samplers in index.html, the lines that a
run prints last, and tests for JUnit, one for every case on every backend.

The message of a JUnit test begins with its group of failures, its text names the smallest of them.
A verdict that the case does not allow is a failure, or an error if the backend crashed or took too
long. A case without a result is an error. `unsupported` is skipped if the case allows it. A case
that the reference refused, and an expectation that it missed, is a failure everywhere.
"""

from collections import defaultdict
from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.failures.format_difference import lines, place, side_by_side
from sampler_parity.harness.failures.groups import Group, rank
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.document import JunitTest, Outcome
from sampler_parity.reports.labels import duration, state_of
from sampler_parity.reports.page import HeatCell, HeatMap, HeatRow, PageFinding
from sampler_parity.reports.pages.parity.parity_devices import Configuration
from sampler_parity.reports.pages.parity.parity_findings import (
    MergedFinding,
    agreement_lines,
    card_id,
    merged,
)
from sampler_parity.reports.pages.parity.parity_model import (
    ParityBackend,
    ParityDifference,
    Report,
    Section,
    Tally,
    Timing,
)

_ORDER = list(ALL_SAMPLERS)
PRINTED = 5
PRINTED_BRIEFLY = 20
_REQUIRED: set[Verdict] = {"diverged", "crashed", "timeout"}  # which look like failures
_ALWAYS: tuple[Verdict, ...] = ("diverged", "crashed")


def findings(report: Report) -> list[PageFinding]:
    """Return the findings, the worst first, then the cases without a result."""
    several = len(report.sections) > 1
    of_all = [(part, finding) for part in report.sections for finding in merged(_failing(part))]
    lines = [
        PageFinding(
            text=f"{f'{part.bundle}: ' if several else ''}{finding.sentence}",
            anchor=card_id(report, part, finding),
            id=finding.shown.id,
            files=_files(part, finding),
            replay=finding.shown.example.replay,
            minimized=finding.shown.example.small,
        )
        for part, finding in sorted(of_all, key=lambda pair: rank(pair[1].groups[0]))
    ]
    for number, part in enumerate(report.sections, 1):
        where = f"{part.bundle}: " if several else ""
        for text in agreement_lines(part.agreeing):
            anchor = f"b{number}-agreement"
            lines.append(PageFinding(text=f"{where}{text}", anchor=anchor, fails=False))
        if part.problems:
            text = f"{where}{len(part.problems):,} cases without a result"
            lines.append(PageFinding(text=text, anchor=f"b{number}-failures"))
    if report.matrix and report.matrix.unexplained:
        text = f"{report.matrix.unexplained:,} results are not explained"
        lines.append(PageFinding(text=text, anchor="matrix"))
    return lines


def _files(part: Section, finding: MergedFinding) -> list[str]:
    infos = [part.run.backends.get(name) for name in finding.backends]
    return [file.path for info in infos if info for file in info.files]


def heat_map(report: Report) -> HeatMap | None:
    """Return the map over all bundles; None without a case."""
    columns = [_columns(report, part) for part in report.sections]
    backends = list(dict.fromkeys(label for labels in columns for label in labels.values()))
    tallies: dict[tuple[str, str], list[Tally]] = defaultdict(list)
    worst: dict[tuple[str, str], tuple[Group, str]] = {}
    for part, labels in zip(report.sections, columns, strict=True):
        for row in part.matrix:
            for name, tally in row.backends.items():
                tallies[row.key, labels[name]].append(tally)
        for (sampler, name), (group, card) in _worst_groups(report, part).items():
            at = sampler, labels[name]
            if at not in worst or rank(group) < rank(worst[at][0]):
                worst[at] = group, card
    rows = [
        HeatRow(
            sampler=sampler,
            cells=[_heat_cell(tallies[sampler, b], worst.get((sampler, b))) for b in backends],
        )
        for sampler in dict.fromkeys(sampler for sampler, _ in tallies)
    ]
    return (
        HeatMap(stem="parity", backends=backends, rows=sorted(rows, key=_row_rank))
        if rows
        else None
    )


def _columns(report: Report, part: Section) -> dict[str, str]:
    """Return the heads of a bundle's columns, by backend: with the bundle's name if another bundle
    has a backend of this name and one of its suites, which must not add up."""
    others = [other for other in report.sections if other is not part]
    suites = {row.key for row in part.suites}
    labels = {}
    for name in (summary.name for summary in part.backends):
        same = [o for o in others if any(summary.name == name for summary in o.backends)]
        twice = any(suites & {row.key for row in other.suites} for other in same)
        number = (
            f" {report.sections.index(part) + 1}" if part.bundle in [o.bundle for o in same] else ""
        )
        labels[name] = f"{name} ({part.bundle}{number})" if twice else name
    return labels


def _failing(part: Section) -> list[Group]:
    """Return the groups of failures; a skipped case is no failure."""
    return [group for group in [*part.reported, *part.folded] if group.verdict != "skipped"]


def _worst_groups(report: Report, part: Section) -> dict[tuple[str, str], tuple[Group, str]]:
    """Return, by sampler and backend, the worst group that counts there, and the id of its card."""
    samplers = {(d.case, d.backend): d.samplers for d in part.differences}
    worst: dict[tuple[str, str], tuple[Group, str]] = {}
    for finding in merged(_failing(part)):
        card = card_id(report, part, finding)
        for group in finding.groups:
            for case in group.cases:
                chain = samplers[case, group.backend]
                for sampler in [group.stage] if group.stage in chain else chain:
                    at = sampler, group.backend
                    if at not in worst or rank(group) < rank(worst[at][0]):
                        worst[at] = group, card
    return worst


def _heat_cell(tallies: list[Tally], worst: tuple[Group, str] | None) -> HeatCell:
    judged = sum(t.judged for t in tallies)
    failing = judged - sum(t.met for t in tallies)
    identical = sum(t.verdicts.get("identical", 0) for t in tallies)
    return HeatCell(
        cases=judged,
        failing=failing,
        allowed=max(0, judged - failing - identical),
        skipped=sum(t.cases - t.judged for t in tallies),
        worst=worst[0].verdict if worst else None,
        anchor=worst[1] if worst else "",
    )


def _row_rank(row: HeatRow) -> tuple[float, int, str]:
    """Sort key: the largest share that fails first, then as the reference has them."""
    share = max((cell.failing / cell.cases for cell in row.cells if cell.cases), default=0.0)
    position = _ORDER.index(row.sampler) if row.sampler in ALL_SAMPLERS else len(_ORDER)
    return -share, position, row.sampler


def terminal_lines(report: Report) -> list[str]:
    """Return failures, backends, devices, speed."""
    lines: list[str] = []
    for part in report.sections:
        lines += _failure_lines(part)
        lines += [_backend_line(s, _failing_verdicts(part, s.name)) for s in part.backends]
    devices = report.devices.configurations if report.devices else []
    lines += [_device_line(c) for c in devices if not c.unavailable]
    return lines + [line for part in report.sections for line in _speed(part.timings)]


def last_line(report: Report) -> str:
    """Return what a run ends with."""
    parts = report.sections
    met, judged = sum(p.cases_met for p in parts), sum(p.cases_judged for p in parts)
    skipped = sum(p.cases for p in parts) - judged
    skipped_text = f"   {skipped:,} skipped" if skipped else ""
    steps, wall_s = sum(p.steps for p in parts), sum(p.wall_s for p in parts)
    ok = state_of(all(part.ok for part in parts))
    cases = f"cases    {met:,}/{judged:,} as required{skipped_text}"
    return f"{cases}   {steps:,} steps   {wall_s:,.1f} s   {ok}"


def _device_line(c: Configuration) -> str:
    parts = ["device", one_line(c.backend, 80)]
    if c.difference is not None and c.kl_max is not None:
        parts += [f"logits differ by up to {c.difference:.3g}", f"KL up to {c.kl_max:.3g} nats"]
        parts += [f"top-1 {c.top1:,}/{c.rows:,}"]
    if c.texts:
        parts.append(f"{c.parted:,}/{c.texts:,} texts part")
    return "   ".join(parts)


def _failure_lines(part: Section) -> list[str]:
    """Return the worst findings in full, and a line for each other."""
    labels = {summary.name: _label(summary) for summary in part.backends}

    def on(finding: MergedFinding) -> str:
        return ", ".join(labels[name] for name in finding.backends)

    reported = merged(part.reported)
    texts = [*agreement_lines(part.agreeing)]
    for finding in reported[:PRINTED]:
        first = finding.shown.model_copy(update={"text": finding.text})
        texts += lines(first, on(finding))
    rest = reported[PRINTED:]
    brief = [*rest[:PRINTED_BRIEFLY], *merged(part.folded)]
    texts += [f"{one_line(finding.text)}   {on(finding)}" for finding in brief]
    for problem in part.problems[:PRINTED]:
        texts += [
            f"{problem.kind.upper()} {one_line(problem.case)}",
            f"  {one_line(problem.detail)}",
            f"  replay: {problem.replay}",
        ]
    left_out = max(0, len(rest) - PRINTED_BRIEFLY) + max(0, len(part.problems) - PRINTED)
    return [*texts, f"... and {left_out:,} more groups of failures"] if left_out else texts


def _label(summary: ParityBackend) -> str:
    return one_line(f"{summary.name} {summary.version}".strip(), 80)


def _failing_verdicts(part: Section, backend: str) -> set[Verdict]:
    return {group.verdict for group in (*part.reported, *part.folded) if group.backend == backend}


def _backend_line(summary: ParityBackend, failing: set[Verdict]) -> str:
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


def _speed(timings: list[Timing]) -> list[str]:
    if not timings:
        return []
    met = sum(row.rule.met is True for row in timings)
    lines = [f"speed    {met:,}/{len(timings):,} within 2 x llama.cpp + 50 µs"]
    missed = [row for row in timings if row.rule.met is not True]
    lines += [
        f"  {one_line(row.sampler)} V={row.n_vocab:,}   {_why(row)}" for row in missed[:PRINTED]
    ]
    left_out = len(missed) - PRINTED
    return [*lines, f"  ... and {left_out:,} more"] if left_out > 0 else lines


def _why(row: Timing) -> str:
    if row.rule.limit_ns is None:
        return f"not judged: {row.rule.why}"
    median_ns = next(b.median_ns for b in row.backends if b.name == "reference")
    return f"reference {duration(median_ns)}, limit {duration(row.rule.limit_ns)}"


def junit_tests(report: Report, bundles: list[Bundle]) -> Iterator[JunitTest]:
    """Yield the tests. bundles: those that the report was made of, in the same order."""
    for section, bundle in zip(report.sections, bundles, strict=True):
        yield from _of_section(section, bundle)


def _of_section(section: Section, bundle: Bundle) -> Iterator[JunitTest]:
    differences = {(d.case, d.backend): d for d in section.differences}
    findings = {(case, g.backend): g for g in section.findings for case in g.cases}
    problems = {p.case: p for p in section.problems if p.kind != "not run"}
    for case in bundle.cases:
        for raw_name in bundle.info.backends:
            suite, name, case_id = visible(case.suite), visible(raw_name), visible(case.id)
            result, at = case.backends.get(raw_name), (case_id, name)
            label = f"{section.bundle}: {suite} on {name}"
            wall_s = result.wall_s if result else 0.0
            test = JunitTest(label, section.run.started, case_id, f"{suite}.{name}", wall_s)
            if result is None:
                yield test.ended("error", "not run", "no result from this backend")
            elif problem := problems.get(case_id):
                text = f"{problem.kind}: {problem.detail}"
                yield test.ended("failure", problem.kind, text, f"replay: {problem.replay}")
            else:
                yield _judged(test, case, raw_name, differences.get(at), findings.get(at))


def _judged(
    test: JunitTest,
    case: CaseResult,
    backend: str,
    difference: ParityDifference | None,
    finding: Group | None,
) -> JunitTest:
    if difference is not None and finding is not None:
        outcome: Outcome = "error" if difference.verdict in ("crashed", "timeout") else "failure"
        message = f"{finding.text} | {_message(difference)}"
        return test.ended(outcome, difference.verdict, message, _body(difference, finding))
    if case.skipped(backend):
        return test.ended("skipped", "skipped", f"not claimed: {case.backends[backend].detail}")
    if difference is not None and difference.verdict == "unsupported":
        return test.ended("skipped", "unsupported", f"unsupported: {difference.detail}")
    return test


def _message(difference: ParityDifference) -> str:
    parts = [f"{difference.verdict}, required {' or '.join(difference.required)}"]
    parts += [place(difference)] if place(difference) else []
    parts += (f"{what}: got {g}, expected {e}" for what, g, e in side_by_side(difference))
    return "; ".join(parts + difference.detail.splitlines()[:1])


def _body(difference: ParityDifference, finding: Group) -> str:
    """Return what differs in this case; the smallest of its group, where that is another."""
    rows = [f"{w}: got {g}, expected {e}" for w, g, e in side_by_side(difference)]
    rows += filter(None, [difference.detail])
    if finding.example.case != difference.case:
        rows += ["", "the smallest like it:", *lines(finding, finding.backend), ""]
    return "\n".join([*rows, f"replay: {difference.replay}"])
