"""The model of the comparison, and the labels and colours of its cells.

reports/schemas/compare.schema.json is made of CompareReport.
"""

from collections import Counter
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.comparison import columns
from sampler_parity.harness.comparison.records import (
    BundleComparison,
    Cell,
    ComparisonColumn,
    Ratio,
    Speed,
    Verdicts,
)
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import device_label, duration, factor, figure

_DECISIONS = ("equivalent", "undecided", "different")  # best first, as ORDER


class CompareReport(BundleComparison):
    schema_version: Literal[1] = 1
    kind: Literal["compare"] = "compare"


def report_of(bundles: list[Bundle]) -> CompareReport | None:
    """Return None if nothing can be compared, as with a single bundle."""
    compared = columns.compare(bundles) if len(bundles) > 1 else None
    return CompareReport.model_validate(visible(compared.model_dump())) if compared else None


def column_name(report: CompareReport, i: int) -> str:
    return f"{report.columns[i].backend} of {report.columns[i].bundle}"


def run_of(report: CompareReport, i: int) -> RunInfo:
    return report.runs[report.columns[i].bundle]


def machine_of(report: CompareReport, i: int) -> str:
    """Return the processor and, where it is another, the device."""
    run = run_of(report, i)
    device = run.backends[report.columns[i].backend].device
    return ", on ".join(filter(None, [one_line(device_label(device), 60), run.machine.cpu]))


def change(row: Verdicts, i: int, base: int | None) -> str:
    """Return how a column's verdict compares with its base's: same, better, worse, other, or ""
    without a pair."""
    verdict = row.verdicts[i]
    before = None if base is None else row.verdicts[base]
    if verdict is None or before is None:
        return ""
    if verdict == before:
        return "same"
    if "skipped" in (verdict, before):
        return "other"
    return "worse" if _badness(verdict) > _badness(before) else "better"


def _badness(verdict: str) -> int:
    if verdict in _DECISIONS:
        return _DECISIONS.index(verdict)
    return [*ORDER].index(verdict) if verdict in ORDER else len(ORDER)  # the case itself is wrong


def changed(report: CompareReport, i: int) -> Counter[str]:
    """Count cases of a column by how their verdict changed from its base's."""
    base = report.columns[i].base
    counted: Counter[str] = Counter()
    for row in report.verdicts:
        counted[change(row, i, base)] += len(row.cases)
    return counted


def differing_text(report: CompareReport, i: int) -> str:
    """Return "2/3, 1 better, 1 worse"."""
    column = report.columns[i]
    if not column.common:
        return "nothing in common"
    counted = changed(report, i)
    kinds = [f"{counted[kind]:,} {kind}" for kind in ("better", "worse", "other") if counted[kind]]
    return ", ".join([f"{column.differing:,}/{column.common:,}", *kinds])


def column_tone(report: CompareReport, i: int) -> Tone:
    """Return "bad" if a result is worse, "fair" if one is different or nothing can be compared."""
    column = report.columns[i]
    if changed(report, i)["worse"]:
        return "bad"
    return "fair" if column.differing or not column.common else "good"


def change_tone(row: Verdicts, i: int, base: int | None) -> Tone:
    """Return a colour for a result that changed; a result that is the same has none."""
    tones: dict[str, Tone] = {"better": "good", "worse": "bad", "other": "fair", "": "quiet"}
    return tones.get(change(row, i, base), "")


def apart_tone(report: CompareReport, row: Cell) -> Tone:
    """Return "good" if intervals are apart and every column is nearer to the exact distribution
    than its base.
    """
    farther = [
        mine.estimate > base.estimate
        for column, mine in zip(report.columns, row.intervals, strict=True)
        if mine and column.base is not None and (base := row.intervals[column.base])
        if mine.low > base.high or base.low > mine.high
    ]
    return "" if not farther else "bad" if any(farther) else "good"


def headline(report: CompareReport) -> str:
    """Return ok or DIFFERENT, and in how much."""
    compared = [c for c in report.columns if c.base is not None]
    differing, common = sum(c.differing for c in compared), sum(c.common for c in compared)
    if report.ok:
        return f"ok: the same verdict in {common:,}/{common:,} comparisons of a case."
    if differing:
        worse = sum(changed(report, i)["worse"] for i in range(len(report.columns)))
        how = "" if worse else ", none of them worse"
        return f"DIFFERENT: another verdict in {differing:,}/{common:,} comparisons of a case{how}."
    return "DIFFERENT: a column has nothing in common with its base."


def state_tone(report: CompareReport) -> Tone:
    if report.ok:
        return "good"
    classes = [column_tone(report, i) for i, c in enumerate(report.columns) if c.base is not None]
    return "bad" if "bad" in classes else "fair"


def not_common(column: ComparisonColumn) -> str:
    """Return the cases that could not be compared, or ""."""
    parts = [
        (column.missing, "of the base alone"),
        (column.added, "of this one alone"),
        (column.changed, "of another suite file"),
    ]
    return ", ".join(f"{n:,} {what}" for n, what in parts if n)


def verdict_text(row: Verdicts, i: int) -> str:
    """Return the verdict of a column and the stage that differs from the reference."""
    verdict, stage = row.verdicts[i], row.places[i]
    if verdict is None:
        return "not compared"
    return f"{verdict} at {stage}" if stage else verdict


def command(report: CompareReport, row: Verdicts) -> str:
    """Return what runs the first case of a row again, on the first pair that differs."""
    for i, column in enumerate(report.columns):
        if column.base is not None and row.verdicts[i] not in (None, row.verdicts[column.base]):
            info = run_of(report, i)
            return replay(info, row.suite, row.cases[0], [column.backend])
    return ""


def figure_text(row: Speed, i: int) -> str:
    number = row.values[i]
    if number is None:
        return "none"
    return duration(number) if row.unit == "ns" else f"{figure(number)} {row.unit}"


def ratio_text(change: Ratio | None) -> str:
    """Return a ratio to the base with its interval; "" without one."""
    return "" if change is None else factor(change.value, change.low, change.high)


def ratio_tone(row: Speed, i: int) -> Tone:
    """Return "good" if surely better than the base, "bad" if surely worse, else ""."""
    change = row.ratios[i]
    if (
        change is None
        or change.low is None
        or change.high is None
        or change.low <= 1 <= change.high
    ):
        return ""
    return "good" if (change.value < 1) == (row.unit == "ns") else "bad"
