"""The report as JUnit XML: a test suite for every suite file and backend, a test for every case.

A verdict that the case does not allow is a failure, or an error if the backend crashed or took too
long. A case without a result is an error. `unsupported` where the case allows it is skipped. What
the reference refused, and an expectation that it missed, is a failure on every backend.
"""

from xml.etree import ElementTree

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.foreign.printable import one_line, visible
from sampler_parity.reports.pages.parity.distribution_model import Distribution
from sampler_parity.reports.pages.parity.model import Difference, Problem, Report, Section
from sampler_parity.reports.pages.parity.words import place, side_by_side

_OUTCOMES = ("failure", "error", "skipped")
_ATTRIBUTES = ("failures", "errors", "skipped")


def junit(report: Report, bundles: list[Bundle]) -> str:
    """bundles: those that the report was made of, in the same order."""
    root = ElementTree.Element("testsuites", name="sampler-parity")
    for section, bundle in zip(report.sections, bundles, strict=True):
        _add_section(root, section, bundle)
        if section.distribution is not None:
            _add_distribution(root, section, section.distribution)
    for node in (*root, root):
        _count(node)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _add_section(root: ElementTree.Element, section: Section, bundle: Bundle) -> None:
    differences = {(d.case, d.backend): d for d in section.differences}
    problems = {p.case: p for p in section.problems if p.kind != "not run"}
    suites: dict[tuple[str, str], ElementTree.Element] = {}
    for case in bundle.cases:
        for raw_name in bundle.info.backends:
            suite, name, case_id = visible(case.suite), visible(raw_name), visible(case.id)
            if (suite, name) not in suites:
                label = f"{section.bundle}: {suite} on {name}"
                suites[suite, name] = ElementTree.SubElement(root, "testsuite", name=label)
                suites[suite, name].set("timestamp", section.run.started)
            result = case.backends.get(raw_name)
            test = ElementTree.SubElement(suites[suite, name], "testcase", name=case_id)
            test.set("classname", f"{suite}.{name}")
            test.set("time", f"{result.wall_s if result else 0:.6f}")
            _judge(test, case, raw_name, problems.get(case_id), differences.get((case_id, name)))


def _add_distribution(root: ElementTree.Element, section: Section, part: Distribution) -> None:
    """A test for every cell on a backend, and for every claim of a calibration."""
    suites: dict[str, ElementTree.Element] = {}

    def add(suite: str, name: str, time_s: float) -> ElementTree.Element:
        if suite not in suites:
            label = f"{section.bundle}: {suite}"
            suites[suite] = ElementTree.SubElement(root, "testsuite", name=label)
            suites[suite].set("timestamp", section.run.started)
        test = ElementTree.SubElement(suites[suite], "testcase", name=name, classname=suite)
        test.set("time", f"{time_s:.6f}")
        return test

    for row in part.rows:
        test = add(f"{row.suite} on {row.backend}", row.cell, row.wall_s)
        message = f"{row.decision}, required {' or '.join(row.required)}; {row.detail}"
        if not row.met:
            kind = "error" if row.decision in ("crashed", "timeout") else "failure"
            _outcome(test, kind, row.decision, message, f"replay: {row.replay}")
        elif row.decision == "unsupported":
            _outcome(test, "skipped", "unsupported", message)
    for claim in part.calibration.claims if part.calibration else []:
        test = add("calibration", claim.text, 0.0)
        if not claim.met:
            _outcome(test, "failure", "claim", f"{claim.text}: {claim.seen}")


def _judge(
    test: ElementTree.Element,
    case: CaseResult,
    backend: str,
    problem: Problem | None,
    difference: Difference | None,
) -> None:
    if backend not in case.backends:
        _outcome(test, "error", "not run", "no result from this backend")
    elif problem is not None:
        message = f"{problem.kind}: {problem.detail}"
        _outcome(test, "failure", problem.kind, message, f"replay: {problem.replay}")
    elif difference is not None and not difference.met:
        kind = "error" if difference.verdict in ("crashed", "timeout") else "failure"
        _outcome(test, kind, difference.verdict, _message(difference), _body(difference))
    elif case.skipped(backend):
        _outcome(test, "skipped", "skipped", f"not claimed: {case.backends[backend].detail}")
    elif difference is not None and difference.verdict == "unsupported":
        _outcome(test, "skipped", "unsupported", f"unsupported: {difference.detail}")


def _outcome(
    test: ElementTree.Element, outcome: str, kind: str, message: str, body: str = ""
) -> None:
    node = ElementTree.SubElement(test, outcome, message=one_line(message))
    if outcome != "skipped":
        node.set("type", kind)
    node.text = body or None


def _message(difference: Difference) -> str:
    parts = [f"{difference.verdict}, required {' or '.join(difference.required)}"]
    parts += [place(difference)] if place(difference) else []
    for what, got, expected in side_by_side(difference):
        if got != expected:
            parts.append(f"{what}: got {got}, expected {expected}")
    return "; ".join(parts + ([difference.detail] if difference.detail else []))


def _body(difference: Difference) -> str:
    rows = [f"{w}: got {g}, expected {e}" for w, g, e in side_by_side(difference)]
    return "\n".join([*rows, *filter(None, [difference.detail]), f"replay: {difference.replay}"])


def _count(node: ElementTree.Element) -> None:
    tests = list(node.iter("testcase"))
    node.set("tests", str(len(tests)))
    for outcome, attribute in zip(_OUTCOMES, _ATTRIBUTES, strict=True):
        node.set(attribute, str(sum(test.find(outcome) is not None for test in tests)))
    node.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.6f}")
