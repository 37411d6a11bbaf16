"""The throughput page as HTML."""

from collections import Counter
from typing import Any, NamedTuple

from sampler_parity.reports.pages.throughput.chart import by_sequences, by_vocabulary, detection
from sampler_parity.reports.pages.throughput.forest import ROWS, compared, ratios
from sampler_parity.reports.pages.throughput.labels import (
    more,
    rate,
    ratio,
    share,
    verdict,
    verdict_class,
)
from sampler_parity.reports.pages.throughput.model import (
    ThroughputReport,
    ThroughputSection,
    TimedRow,
)
from sampler_parity.reports.writers.html import Markup, template

UNFOLDED = 30  # rows of a table that are a screen


class Timed(NamedTuple):
    """The timings of a backend. said: what they come to. folded: shown when asked for."""

    name: str
    said: str
    compared: bool
    folded: bool
    rows: list[TimedRow]


def html(report: ThroughputReport) -> str:
    charts = [
        {
            "widths": Markup(by_sequences(s.widths, f"widths {i}")),  # escaped by Matplotlib
            "forest": Markup(ratios(s, f"forest {i}")),
            "sizes": Markup(by_vocabulary(s.timings, f"sizes {i}")),
            "check": Markup(detection(s.check, f"check {i}")),
        }
        for i, s in enumerate(report.sections)
    ]
    words: dict[str, Any] = {"ratio": ratio, "rate": rate, "share": share, "more": more}
    words |= {"verdict": verdict, "verdict_class": verdict_class}
    page = template("throughput.html.j2", **words, timed=timed, firsts=firsts, fixed=fixed)
    lines = [len(compared(section)) for section in report.sections]
    return page.render(report=report, charts=charts, lines=lines, most=ROWS)


def timed(section: ThroughputSection) -> list[Timed]:
    """By backend: those that are compared, then the first, then the floor."""
    by_name: dict[str, list[TimedRow]] = {}
    for row in section.timings:
        by_name.setdefault(row.backend, []).append(row)
    few = sum(map(len, by_name.values())) <= UNFOLDED
    tables = [
        Timed(name, _said(rows), any(r.compared for r in rows), not few, rows)
        for name, rows in by_name.items()
    ]
    tables = [table._replace(folded=table.folded or not table.compared) for table in tables]
    return sorted(tables, key=lambda table: not table.compared)


def _said(rows: list[TimedRow]) -> str:
    """ "48 slower, 30 inconclusive", or what the backend is there for."""
    counted = Counter(verdict(row) for row in rows)
    if any(row.compared for row in rows):
        return ", ".join(f"{n:,} {name}" for name, n in counted.most_common())
    return f"{len(rows):,} timings, {verdict(rows[0])}"


def firsts(section: ThroughputSection) -> dict[str, float]:
    """The medians of the first backend, by the id of the timing."""
    return {row.id: row.median_ns for row in section.timings if verdict(row) == "the first"}


def fixed(value: float | None) -> str:
    """As a script sorts it."""
    return "" if value is None else f"{value:.6g}"
