"""The trend over the runs of a history: page, Markdown, JSON and terminal."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Literal

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from sampler_parity.harness.comparison import history
from sampler_parity.harness.comparison.history import Counted, Measured, Run
from sampler_parity.reports.pages.history.chart import Line, trend
from sampler_parity.reports.pages.parity.html import environment
from sampler_parity.reports.pages.parity.markdown import code, fitting, table
from sampler_parity.reports.render.words import duration, figure, one_line, visible

RECENT = 12  # runs that are columns of the tables; JSON has all
LINES = 8  # of a plot


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SamplerTrend(_Part):
    """By run, in their order; None: the run did not have it."""

    backend: str
    sampler: str
    runs: list[Counted | None]


class FigureTrend(_Part):
    kind: str
    id: str
    backend: str
    unit: str
    runs: list[Measured | None]

    @property
    def known(self) -> list[Measured]:
        return [found for found in self.runs if found is not None]

    @property
    def change(self) -> float:
        """The last value over the one before; 1 where there is none."""
        known = self.known
        return known[-1].value / known[-2].value if len(known) > 1 and known[-2].value else 1.0


class History(_Part):
    """runs: the oldest first."""

    schema_version: Literal[1] = 1
    kind: Literal["history"] = "history"
    runs: list[Run]
    samplers: list[SamplerTrend]
    figures: list[FigureTrend]


def schema_text() -> str:
    """The text of reports/schemas/history.schema.json."""
    schema = History.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def report_of(database: Path) -> History:
    """Raises InputError for a file that is no history."""
    runs = history.runs(database)
    place = {run.id: i for i, run in enumerate(runs)}
    counted: dict[tuple[str, str], list[Counted | None]]
    counted = defaultdict(lambda: [None] * len(runs))
    for row in history.counts(database):
        counted[row.backend, row.sampler][place[row.run]] = row
    measured: dict[tuple[str, str, str, str], list[Measured | None]]
    measured = defaultdict(lambda: [None] * len(runs))
    for found in history.measured(database):
        measured[found.kind, found.id, found.backend, found.unit][place[found.run]] = found
    report = History(
        runs=runs,
        samplers=[SamplerTrend(backend=b, sampler=s, runs=r) for (b, s), r in counted.items()],
        figures=[
            FigureTrend(kind=kind, id=name, backend=backend, unit=unit, runs=found)
            for (kind, name, backend, unit), found in measured.items()
        ],
    )
    return History.model_validate(visible(report.model_dump()))


def identical_lines(report: History) -> list[Line]:
    """By backend the share of cases by sampler that are identical to the reference."""
    shares: dict[str, list[tuple[int, int]]] = defaultdict(lambda: [(0, 0)] * len(report.runs))
    for row in report.samplers:
        for i, found in enumerate(row.runs):
            if found is not None:
                same, all_ = shares[row.backend][i]
                shares[row.backend][i] = same + found.identical, all_ + found.cases
    lines = [
        Line(name, [same / all_ if all_ else None for same, all_ in found])
        for name, found in shares.items()
    ]
    return sorted(lines, key=lambda line: min(y for y in line.values if y is not None))[:LINES]


def ratio_lines(report: History) -> list[Line]:
    """The ratios to the baseline that changed most at the end."""
    rows = [row for row in report.figures if any(found.ratio for found in row.known)]
    rows.sort(key=lambda row: max(row.change, 1 / row.change), reverse=True)
    return [
        Line(f"{row.backend} {row.id}", [found.ratio if found else None for found in row.runs])
        for row in rows[:LINES]
    ]


def html(report: History) -> str:
    labels = [run.started[:10] for run in report.runs]
    return (
        environment()
        .get_template("history.html.j2")
        .render(
            report=report,
            first=max(0, len(report.runs) - RECENT),
            identical=Markup(trend(labels, identical_lines(report), "share identical", "same")),
            ratios=Markup(trend(labels, ratio_lines(report), "ratio to the baseline", "ratios")),
            value=value,
            counts=counts,
        )
    )


def value(found: Measured | None) -> str:
    """With its ratio to the baseline of the same run."""
    if found is None:
        return "none"
    text = duration(found.value) if found.unit == "ns" else f"{figure(found.value)} {found.unit}"
    if found.ratio is None:
        return text
    if found.low is None or found.high is None:
        return f"{text}, {found.ratio:.3g} ×"
    return f"{text}, {found.ratio:.3g} × [{found.low:.3g}, {found.high:.3g}]"


def counts(found: Counted | None) -> str:
    if found is None:
        return "none"
    text = f"{found.identical:,}/{found.cases:,} identical"
    failed = found.cases - found.met
    return f"{text}, {failed:,} failed" if failed else text


def markdown(report: History) -> str:
    return fitting("\n".join(_lines(report, n, rows)) + "\n" for n, rows in ((6, 40), (3, 10)))


def _lines(report: History, recent: int, rows: int) -> list[str]:
    runs = [
        [
            run.started,
            code(run.name),
            f"{run.met:,}/{run.cases:,}",
            f"{run.tests_met:,}/{run.tests:,}",
            code(run.version),
            code(run.cpu),
            code(run.digest[:12]),
        ]
        for run in report.runs[-rows:]
    ]
    head = ["started", "bundle", "cases as required", "tests as required", "version", "processor"]
    lines = [f"# History of {len(report.runs):,} runs", "", *table([*head, "SHA-256"], runs), ""]
    days = [run.started[:10] for run in report.runs[-recent:]]
    samplers = [
        [code(row.backend), code(row.sampler), *map(counts, row.runs[-recent:])]
        for row in report.samplers[:rows]
    ]
    figures = [
        [code(row.backend), code(row.id), *map(value, row.runs[-recent:])]
        for row in report.figures[:rows]
    ]
    lines += [*table(["backend", "sampler", *days], samplers), ""]
    return [*lines, *table(["backend", "figure", *days], figures)] if figures else lines


def terminal_lines(report: History) -> list[str]:
    lines = [
        f"history  {run.started}   {one_line(run.name, 40)}   {run.met:,}/{run.cases:,} cases as"
        f" required   {one_line(run.cpu, 60)}"
        for run in report.runs
    ]
    return [*lines, f"history  {len(report.runs):,} runs, {len(report.figures):,} figures"]
