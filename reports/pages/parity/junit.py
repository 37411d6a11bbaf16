"""The report as JUnit XML: a test suite for every suite file and backend, a test for every case.

Its message begins with the group of failures that it is of, its text names the smallest of them.
A verdict that the case does not allow is a failure, or an error if the backend crashed or took too
long. A case without a result is an error. `unsupported` where the case allows it is skipped. What
the reference refused, and an expectation that it missed, is a failure on every backend.
"""

from xml.etree import ElementTree

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.failures.format_difference import lines, place, side_by_side
from sampler_parity.harness.failures.groups import Group
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.parity.model import Difference, Problem, Report, Section
from sampler_parity.reports.writers.junit import JunitDocument, outcome


def junit(report: Report, bundles: list[Bundle]) -> str:
    """bundles: those that the report was made of, in the same order."""
    document = JunitDocument()
    for section, bundle in zip(report.sections, bundles, strict=True):
        _add_section(document, section, bundle)
    return document.text()


def _add_section(document: JunitDocument, section: Section, bundle: Bundle) -> None:
    differences = {(d.case, d.backend): d for d in section.differences}
    findings = {(case, g.backend): g for g in section.findings for case in g.cases}
    problems = {p.case: p for p in section.problems if p.kind != "not run"}
    for case in bundle.cases:
        for raw_name in bundle.info.backends:
            suite, name, case_id = visible(case.suite), visible(raw_name), visible(case.id)
            result = case.backends.get(raw_name)
            test = document.test(
                f"{section.bundle}: {suite} on {name}",
                section.run.started,
                case_id,
                f"{suite}.{name}",
                result.wall_s if result else 0.0,
            )
            at = (case_id, name)
            problem = problems.get(case_id)
            _judge(test, case, raw_name, problem, differences.get(at), findings.get(at))


def _judge(
    test: ElementTree.Element,
    case: CaseResult,
    backend: str,
    problem: Problem | None,
    difference: Difference | None,
    finding: Group | None,
) -> None:
    if backend not in case.backends:
        outcome(test, "error", "not run", "no result from this backend")
    elif problem is not None:
        message = f"{problem.kind}: {problem.detail}"
        outcome(test, "failure", problem.kind, message, f"replay: {problem.replay}")
    elif difference is not None and finding is not None:
        kind = "error" if difference.verdict in ("crashed", "timeout") else "failure"
        message = f"{finding.text} | {_message(difference)}"
        outcome(test, kind, difference.verdict, message, _body(difference, finding))
    elif case.skipped(backend):
        outcome(test, "skipped", "skipped", f"not claimed: {case.backends[backend].detail}")
    elif difference is not None and difference.verdict == "unsupported":
        outcome(test, "skipped", "unsupported", f"unsupported: {difference.detail}")


def _message(difference: Difference) -> str:
    parts = [f"{difference.verdict}, required {' or '.join(difference.required)}"]
    parts += [place(difference)] if place(difference) else []
    for what, got, expected in side_by_side(difference):
        if got != expected:
            parts.append(f"{what}: got {got}, expected {expected}")
    return "; ".join(parts + difference.detail.splitlines()[:1])


def _body(difference: Difference, finding: Group) -> str:
    """What differs in this case; the smallest of its group, where that is another; its replay."""
    rows = [f"{w}: got {g}, expected {e}" for w, g, e in side_by_side(difference)]
    rows += filter(None, [difference.detail])
    if finding.example.case != difference.case:
        rows += ["", "the smallest like it:", *lines(finding, finding.backend), ""]
    return "\n".join([*rows, f"replay: {difference.replay}"])
