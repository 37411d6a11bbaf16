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
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    times: dict[str, float] = defaultdict(float)
    for test in tests:
        about = _attributes(name=test.suite, timestamp=test.started)
        suites.setdefault(about, []).append(_test(test))
        counts[about].update(("tests", _OUTCOMES.get(test.outcome, "")))
        times[about] += float(f"{test.time_s:.6f}")
    total = _counted(sum(counts.values(), Counter()), sum(times.values()))
    parts = [f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="sampler-parity"{total}']
    for about, members in suites.items():
        parts += [">\n" if len(parts) == 1 else "", f"  <testsuite{about}"]
        parts += [_counted(counts[about], times[about]), ">\n", *members, "  </testsuite>\n"]
    return "".join([*parts, "</testsuites>\n" if suites else " />\n"])


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
