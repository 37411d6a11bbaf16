"""Writes tests as JUnit XML: test suites by name, in the order in which they come."""

from collections.abc import Iterable
from xml.etree import ElementTree

from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.reports.document import JunitTest

_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # their attributes


def junit(tests: Iterable[JunitTest]) -> str:
    """Return the text of the file."""
    root = ElementTree.Element("testsuites", name="sampler-parity")
    suites: dict[str, ElementTree.Element] = {}
    for test in tests:
        if test.suite not in suites:
            suites[test.suite] = ElementTree.SubElement(root, "testsuite", name=test.suite)
            suites[test.suite].set("timestamp", test.started)
        _add(suites[test.suite], test)
    for node in (*root, root):
        _count(node)
    ElementTree.indent(root)
    xml = ElementTree.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{xml}\n'


def _add(suite: ElementTree.Element, test: JunitTest) -> None:
    attributes = {"classname": test.classname, "time": f"{test.time_s:.6f}"}
    case = ElementTree.SubElement(suite, "testcase", {"name": test.name, **attributes})
    if test.outcome:
        node = ElementTree.SubElement(case, test.outcome, message=one_line(visible(test.message)))
        if test.outcome != "skipped":
            node.set("type", test.kind)
        node.text = visible(test.body) or None


def _count(node: ElementTree.Element) -> None:
    tests = list(node.iter("testcase"))
    node.set("tests", str(len(tests)))
    for name, attribute in _OUTCOMES.items():
        node.set(attribute, str(sum(test.find(name) is not None for test in tests)))
    node.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.6f}")
