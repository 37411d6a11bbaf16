"""The parity page as tests for JUnit: one for every case on every backend.

The message of a test begins with its group of failures, its text names the smallest of them. A
verdict that the case does not allow is a failure, or an error if the backend crashed or took too
long. A case without a result is an error. `unsupported` is skipped if the case allows it. A case
that the reference refused, and an expectation that it missed, is a failure everywhere.
"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.failures.format_difference import lines, place, side_by_side
from sampler_parity.harness.failures.groups import Group
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.document import JunitTest, Outcome
from sampler_parity.reports.pages.parity.model import ParityDifference, Report, Section


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
    for what, got, expected in side_by_side(difference):
        if got != expected:
            parts.append(f"{what}: got {got}, expected {expected}")
    return "; ".join(parts + difference.detail.splitlines()[:1])


def _body(difference: ParityDifference, finding: Group) -> str:
    """Return what differs in this case; the smallest of its group, where that is another."""
    rows = [f"{w}: got {g}, expected {e}" for w, g, e in side_by_side(difference)]
    rows += filter(None, [difference.detail])
    if finding.example.case != difference.case:
        rows += ["", "the smallest like it:", *lines(finding, finding.backend), ""]
    return "\n".join([*rows, f"replay: {difference.replay}"])
