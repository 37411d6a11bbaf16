"""JUnit XML of reports: what the pages that test something share."""

from xml.etree import ElementTree

from sampler_parity.harness.sanitize.printable import one_line

_OUTCOMES = ("failure", "error", "skipped")
_ATTRIBUTES = ("failures", "errors", "skipped")


class Document:
    """Test suites by name, in the order in which they come."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("testsuites", name="sampler-parity")
        self.suites: dict[str, ElementTree.Element] = {}

    def test(
        self, suite: str, started: str, name: str, classname: str, time_s: float
    ) -> ElementTree.Element:
        """A new test of a suite. started: when the run of the suite did."""
        if suite not in self.suites:
            self.suites[suite] = ElementTree.SubElement(self.root, "testsuite", name=suite)
            self.suites[suite].set("timestamp", started)
        test = ElementTree.SubElement(self.suites[suite], "testcase", name=name)
        test.set("classname", classname)
        test.set("time", f"{time_s:.6f}")
        return test

    def text(self) -> str:
        for node in (*self.root, self.root):
            _count(node)
        ElementTree.indent(self.root)
        xml = ElementTree.tostring(self.root, "unicode")
        return f'<?xml version="1.0" encoding="utf-8"?>\n{xml}\n'


def outcome(test: ElementTree.Element, name: str, kind: str, message: str, body: str = "") -> None:
    """name: failure, error or skipped. kind: the verdict."""
    node = ElementTree.SubElement(test, name, message=one_line(message))
    if name != "skipped":
        node.set("type", kind)
    node.text = body or None


def _count(node: ElementTree.Element) -> None:
    tests = list(node.iter("testcase"))
    node.set("tests", str(len(tests)))
    for name, attribute in zip(_OUTCOMES, _ATTRIBUTES, strict=True):
        node.set(attribute, str(sum(test.find(name) is not None for test in tests)))
    node.set("time", f"{sum(float(test.get('time', '0')) for test in tests):.6f}")
