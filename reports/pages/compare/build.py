"""Several bundles beside each other: page, Markdown, JSON and terminal of a comparison."""

import json
from collections.abc import Callable
from functools import partial
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.case import RunInfo
from sampler_parity.harness.comparison import columns
from sampler_parity.harness.comparison.records import Column, Compared, Ratio, Speed, Verdicts
from sampler_parity.reports.pages.parity.html import environment
from sampler_parity.reports.pages.parity.markdown import code, fitting, table
from sampler_parity.reports.render.words import duration, figure, one_line, replay, visible

SHOWN = 100  # rows of a table on the page
NAMED = 5  # of a kind on the terminal


class Comparison(Compared):
    schema_version: Literal[1] = 1
    kind: Literal["compare"] = "compare"


def schema_text() -> str:
    """The text of reports/schemas/compare.schema.json."""
    schema = Comparison.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def report_of(bundles: list[Bundle]) -> Comparison | None:
    """None where nothing can be compared with anything."""
    found = columns.compare(bundles)
    return Comparison.model_validate(visible(found.model_dump())) if found else None


def texts_of(report: Comparison) -> dict[str, Callable[[], str]]:
    """By format."""
    return {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(markdown, report),
        "html": partial(html, report),
    }


def html(report: Comparison) -> str:
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            report=report,
            shown=SHOWN,
            column=lambda i: name(report, i),
            state=cell,
            replay=lambda row: command(report, row),
            value=value,
            ratio=ratio,
            ratio_class=ratio_class,
            headline=headline(report),
            place_of=[place(report, i) for i in range(len(report.columns))],
        )
    )


def name(report: Comparison, i: int) -> str:
    return f"{report.columns[i].backend} of {report.columns[i].bundle}"


def run_of(report: Comparison, i: int) -> RunInfo:
    return report.runs[report.columns[i].bundle]


def place(report: Comparison, i: int) -> str:
    """The processor and, where it is another, the device."""
    run = run_of(report, i)
    device = run.backends[report.columns[i].backend].device
    return ", on ".join(filter(None, [one_line(device, 60), run.machine.cpu]))


def headline(report: Comparison) -> str:
    """ok or DIFFERENT, and in how much."""
    compared = [c for c in report.columns if c.base is not None]
    differing, common = sum(c.differing for c in compared), sum(c.common for c in compared)
    if report.ok:
        return f"ok: the same verdict in {common:,}/{common:,} comparisons of a case."
    if differing:
        return f"DIFFERENT: another verdict in {differing:,}/{common:,} comparisons of a case."
    return "DIFFERENT: a column has nothing in common with its base."


def not_common(column: Column) -> str:
    """The cases that could not be compared, or ""."""
    parts = [
        (column.missing, "of the base alone"),
        (column.added, "of this one alone"),
        (column.changed, "of another suite file"),
    ]
    return ", ".join(f"{n:,} {what}" for n, what in parts if n)


def cell(row: Verdicts, i: int) -> str:
    """The verdict of a column and the stage that differs from the reference."""
    verdict, stage = row.verdicts[i], row.places[i]
    if verdict is None:
        return "not compared"
    return f"{verdict} at {stage}" if stage else verdict


def command(report: Comparison, row: Verdicts) -> str:
    """What runs the first case of a row again, on the backends of the first pair that differs."""
    for i, column in enumerate(report.columns):
        if column.base is not None and row.verdicts[i] not in (None, row.verdicts[column.base]):
            info = run_of(report, i)
            known = {column.backend: info.backends[column.backend]}
            return replay(row.suite, row.cases[0], info.seed, known)
    return ""


def value(row: Speed, i: int) -> str:
    found = row.values[i]
    if found is None:
        return "none"
    return duration(found) if row.unit == "ns" else f"{figure(found)} {row.unit}"


def ratio(found: Ratio | None) -> str:
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return f"{found.value:.3g} ×"
    return f"{found.value:.3g} × [{found.low:.3g}, {found.high:.3g}]"


def ratio_class(row: Speed, i: int) -> str:
    """good: surely better than the base; bad: surely worse; else nothing."""
    found = row.ratios[i]
    if found is None or found.low is None or found.high is None or found.low <= 1 <= found.high:
        return ""
    return "good" if (found.value < 1) == (row.unit == "ns") else "bad"


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
    found = [row for row in report.cells if row.apart or len({*row.decisions} - {None}) > 1]
    rows = [
        [
            code(row.id),
            *(
                f"{decision or 'not compared'}" + (f" {figure(i.estimate)}" if i else "")
                for decision, i in zip(row.decisions, row.intervals, strict=True)
            ),
        ]
        for row in found[:shown]
    ]
    if not report.cells:
        return []
    same = f"{len(report.cells) - len(found):,}/{len(report.cells):,} agree."
    lines = ["", "## Distributions", "", same, ""]
    return [*lines, *(table(["test", *names], rows) if rows else []), *_rest(len(found), shown)]


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


def terminal_lines(report: Comparison) -> list[str]:
    """A line a column, the first differences, and what may explain them."""
    lines = []
    for i, column in enumerate(report.columns):
        parts = [f"compare  {one_line(name(report, i), 80)}"]
        if column.base is None:
            parts.append("the first of its kind")
        else:
            parts.append(f"{column.differing:,}/{column.common:,} verdicts differ")
        if absent := not_common(column):
            parts.append(f"not compared: {absent}")
        lines.append("   ".join(parts))
    lines += [
        f"compare  {one_line(f'{g.backend} of {g.bundle}', 80)}   did not run: {one_line(g.why)}"
        for g in report.unavailable
    ]
    for row in report.verdicts[:NAMED]:
        found = ", ".join(
            f"{one_line(name(report, i), 60)} {cell(row, i)}" for i in range(len(report.columns))
        )
        lines += [f"  {len(row.cases):,} cases as {one_line(row.cases[0])}: {one_line(found)}"]
        lines += [f"    replay: {command(report, row)}"]
    if len(report.verdicts) > NAMED:
        lines.append(f"  ... and {len(report.verdicts) - NAMED:,} more kinds of difference")
    for beside in report.logits:
        lines.append(_logits_line(report, beside.column))
    surely = [
        (row, i) for row in report.speeds for i in range(len(report.columns)) if ratio_class(row, i)
    ]
    lines += [
        f"speed    {one_line(row.id)}   {one_line(name(report, i), 60)}   {ratio(row.ratios[i])}"
        for row, i in surely[:NAMED]
    ]
    if report.speeds:
        pairs = sum(found is not None for row in report.speeds for found in row.ratios)
        lines.append(f"speed    {len(surely):,}/{pairs:,} figures surely differ from the base's")
    if differing := [fact.name for fact in report.facts if fact.differs]:
        lines.append(f"facts    differ in {', '.join(differing)}")
    lines.append(f"compare  {headline(report)}")
    return [line.replace("\n", " ").replace("\t", " ") for line in lines]


def _logits_line(report: Comparison, column: int) -> str:
    beside = next(b for b in report.logits if b.column == column)
    parts = [f"logits   {one_line(name(report, column), 80)}"]
    parts.append(f"{beside.equal:,}/{beside.prompts:,} prompts equal to the bit")
    if beside.difference is not None:
        parts.append(f"kept rows differ by up to {beside.difference:.3g}")
    if beside.texts:
        parts.append(f"{beside.texts_equal:,}/{beside.texts:,} texts equal")
    return "   ".join(parts)
