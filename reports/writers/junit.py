"""Writes tests as JUnit XML: test suites by name, in the order in which they come."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from xml.sax.saxutils import escape

from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.reports.document import JunitTest

_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # their attributes
_ESCAPED = re.compile(r'[&<>"\r\n\t]')
_IN_QUOTES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"}


def junit(tests: Iterable[JunitTest]) -> str:
    """Return the text of the file. A test is text at once: there may be a million."""
    suites: dict[str, list[str]] = {}
    counts: dict[str, Counter[str]] = {}
    started: dict[str, str] = {}
    times: dict[str, float] = defaultdict(float)
    for test in tests:
        if test.suite not in suites:
            suites[test.suite], counts[test.suite] = [], Counter()
            started[test.suite] = test.started
        suites[test.suite].append(_test(test))
        counts[test.suite].update(("tests", _OUTCOMES.get(test.outcome, "")))
        times[test.suite] += float(f"{test.time_s:.6f}")
    total = sum(counts.values(), Counter())
    parts = ['<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="sampler-parity"']
    parts += [_counted(total, sum(times.values())), ">\n" if suites else " />\n"]
    for name, members in suites.items():
        parts.append(f"  <testsuite{_attributes(name=name, timestamp=started[name])}")
        parts += [_counted(counts[name], times[name]), ">\n", *members, "  </testsuite>\n"]
    return "".join([*parts, "</testsuites>\n" if suites else ""])


def _test(test: JunitTest) -> str:
    about = _attributes(name=test.name, classname=test.classname, time=f"{test.time_s:.6f}")
    if not test.outcome:
        return f"    <testcase{about} />\n"
    kind = {} if test.outcome == "skipped" else {"type": test.kind}
    node = f"{test.outcome}{_attributes(message=one_line(visible(test.message)), **kind)}"
    text = escape(visible(test.body))
    node = f"<{node}>{text}</{test.outcome}>" if text else f"<{node} />"
    return f"    <testcase{about}>\n      {node}\n    </testcase>\n"


def _counted(counts: Counter[str], time_s: float) -> str:
    numbers = {name: str(counts[name]) for name in ("tests", *_OUTCOMES.values())}
    return _attributes(**numbers, time=f"{time_s:.6f}")


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_quoted(value)}"' for name, value in values.items())


def _quoted(value: str) -> str:
    return escape(value, _IN_QUOTES) if _ESCAPED.search(value) else value
