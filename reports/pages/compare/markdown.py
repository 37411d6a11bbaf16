"""The comparison as Markdown."""

from sampler_parity.harness.sanitize.markup import code
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.compare.labels import (
    cell,
    command,
    headline,
    name,
    not_common,
    ratio,
    value,
)
from sampler_parity.reports.pages.compare.model import Comparison
from sampler_parity.reports.writers.markdown import fitting, table


def markdown(report: Comparison) -> str:
    return fitting("\n".join(_lines(report, shown)) + "\n" for shown in (60, 20, 5, 0))


def _lines(report: Comparison, shown: int) -> list[str]:
    names = [code(name(report, i)) for i in range(len(report.columns))]
    head = ["configuration", "compared with", "other verdict", "not compared"]
    rows = [
        [
            names[i],
            "the first of its kind" if column.base is None else names[column.base],
            "" if column.base is None else f"{column.differing:,}/{column.common:,}",
            not_common(column),
        ]
        for i, column in enumerate(report.columns)
    ]
    lines = ["# Comparison of bundles", "", headline(report), "", *table(head, rows), ""]
    lines += [
        f"- {code(gone.backend)} of {code(gone.bundle)} did not run: {code(gone.why)}"
        for gone in report.unavailable
    ]
    lines += _verdicts(report, names, shown) + _logits(report, names)
    lines += _cells(report, names, shown) + _speeds(report, names, shown)
    facts = [[code(f.name), *map(code, f.values)] for f in report.facts if f.differs]
    return [*lines, "", "## Facts that differ", "", *table(["", *names], facts), ""]


def _verdicts(report: Comparison, names: list[str], shown: int) -> list[str]:
    rows = [
        [
            f"{len(row.cases):,}: {code(row.cases[0])}",
            *(code(cell(row, i)) for i in range(len(names))),
        ]
        for row in report.verdicts[:shown]
    ]
    if not rows:
        return []
    lines = ["", "## Verdicts that differ", "", *table(["cases", *names], rows), ""]
    lines += [f"Replay: {code(command(report, report.verdicts[0]), 400)}"]
    return [*lines, *_rest(len(report.verdicts), shown)]


def _rest(total: int, shown: int) -> list[str]:
    return ["", f"{total - shown:,} more rows: see the JSON."] if total > shown else []


def _logits(report: Comparison, names: list[str]) -> list[str]:
    head = ["configuration", "equal prompts", "largest difference", "largest KL", "same top-1"]
    rows = [
        [
            names[beside.column],
            f"{beside.equal:,}/{beside.prompts:,}",
            figure(beside.difference),
            figure(beside.kl_max),
            f"{beside.top1:,}/{beside.kept:,}",
            f"{beside.texts_equal:,}/{beside.texts:,}",
        ]
        for beside in report.logits
    ]
    return ["", "## Logits", "", *table([*head, "equal texts"], rows)] if rows else []


def _cells(report: Comparison, names: list[str], shown: int) -> list[str]:
    apart = [row for row in report.cells if row.apart or len({*row.decisions} - {None}) > 1]
    rows = [
        [
            code(row.id),
            *(
                f"{decision or 'not compared'}" + (f" {figure(i.estimate)}" if i else "")
                for decision, i in zip(row.decisions, row.intervals, strict=True)
            ),
        ]
        for row in apart[:shown]
    ]
    if not report.cells:
        return []
    same = f"{len(report.cells) - len(apart):,}/{len(report.cells):,} agree."
    lines = ["", "## Distributions", "", same, ""]
    return [*lines, *(table(["test", *names], rows) if rows else []), *_rest(len(apart), shown)]


def _speeds(report: Comparison, names: list[str], shown: int) -> list[str]:
    rows = [
        [
            code(row.id),
            *(f"{value(row, i)} {ratio(row.ratios[i])}".strip() for i in range(len(names))),
        ]
        for row in report.speeds[:shown]
    ]
    if not rows:
        return []
    lines = ["", "## Speed", "", *table(["figure", *names], rows)]
    return [*lines, *_rest(len(report.speeds), shown)]
