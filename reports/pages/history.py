"""How did verdicts and figures change from run to run?

reports/schemas/history.schema.json is made of HistoryReport.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from sampler_parity.harness.comparison import history
from sampler_parity.harness.comparison.history import Counted, MeasuredFigure, Run
from sampler_parity.harness.sanitize.printable import escaped, one_line
from sampler_parity.harness.strict import Strict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, factor, figure, share_of
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.parts import folded
from sampler_parity.reports.pictures.picture import Panel, PlotLine, panels

LINES = 8  # of a plot
RECENT = 12  # runs that are columns of the tables; JSON has all


class SamplerTrend(Strict):
    """By run, in their order; None: the run did not have it."""

    backend: str
    sampler: str
    runs: list[Counted | None]


class FigureTrend(Strict):
    kind: str
    id: str
    backend: str
    unit: str
    runs: list[MeasuredFigure | None]

    @property
    def known(self) -> list[MeasuredFigure]:
        return [run for run in self.runs if run is not None]

    @property
    def change(self) -> float:
        """The last value over the one before; 1 where there is none."""
        points = self.known
        return points[-1].value / points[-2].value if len(points) > 1 and points[-2].value else 1.0


class HistoryReport(Strict):
    """runs: the oldest first."""

    schema_version: Literal[1] = 1
    kind: Literal["history"] = "history"
    runs: list[Run]
    samplers: list[SamplerTrend]
    figures: list[FigureTrend]


def report_of(database: Path) -> HistoryReport:
    """Return the trends. Raises InputError for a file that is no history."""
    runs = history.runs(database)
    position = {run.id: i for i, run in enumerate(runs)}
    counted: dict[tuple[str, str], list[Counted | None]]
    counted = defaultdict(lambda: [None] * len(runs))
    for row in history.counts(database):
        counted[row.backend, row.sampler][position[row.run]] = row
    measured: dict[tuple[str, str, str, str], list[MeasuredFigure | None]]
    measured = defaultdict(lambda: [None] * len(runs))
    for value in history.measured(database):
        measured[value.kind, value.id, value.backend, value.unit][position[value.run]] = value
    report = HistoryReport(
        runs=runs,
        samplers=[SamplerTrend(backend=b, sampler=s, runs=r) for (b, s), r in counted.items()],
        figures=[
            FigureTrend(kind=kind, id=name, backend=backend, unit=unit, runs=row)
            for (kind, name, backend, unit), row in measured.items()
        ],
    )
    return escaped(report)


def identical_lines(report: HistoryReport) -> list[PlotLine]:
    """Return, by backend, the share of cases by sampler that are identical to the reference."""
    shares: dict[str, list[tuple[int, int]]] = defaultdict(lambda: [(0, 0)] * len(report.runs))
    for row in report.samplers:
        for i, counted in enumerate(row.runs):
            if counted is not None:
                same, total = shares[row.backend][i]
                shares[row.backend][i] = same + counted.identical, total + counted.cases
    lines = [
        PlotLine(name, [(i, same / total) for i, (same, total) in enumerate(runs) if total])
        for name, runs in shares.items()
    ]
    drawn = [line for line in lines if line.points]
    return sorted(drawn, key=lambda line: min(share for _, share in line.points))[:LINES]


def ratio_lines(report: HistoryReport) -> list[PlotLine]:
    """Return the ratios to the baseline that changed most at the end."""
    rows = [row for row in report.figures if any(run.ratio for run in row.known)]
    rows.sort(key=lambda row: max(row.change, 1 / row.change), reverse=True)
    return [
        PlotLine(
            f"{row.backend} {row.id}",
            [(i, run.ratio) for i, run in enumerate(row.runs) if run and run.ratio is not None],
        )
        for row in rows[:LINES]
    ]


def document(report: HistoryReport) -> doc.Document:
    """Return the page of a history."""
    parts = {"runs": "Runs", "samplers": "Samplers", "figures": "Figures"}
    links = doc.Links("Parts", [(title, f"#{anchor}") for anchor, title in parts.items()])
    title = f"History: {len(report.runs):,} runs"
    blocks = [*_runs(report), *_samplers(report), *_figures(report)]
    return doc.Document(title, "History", [links], blocks)


def _runs(report: HistoryReport) -> Iterator[doc.Block]:
    head = "Started | Bundle | Cases as required | Tests as required | Profile | Seed | Version"
    table = doc.Table(
        "Every bundle once, the newest first. Tests: of distributions, each on each backend.",
        f"{head} | Processor | SHA-256",
        [_run(run) for run in reversed(report.runs)],
        style="sticky",
    )
    yield doc.Heading(2, "Runs", "runs")
    yield folded(len(report.runs), "run", 30, [table])


def _run(run: Run) -> doc.Cells:
    name = [doc.Untrusted(run.started), doc.Name(run.name)]
    met = [_met(run.met, run.cases), _met(run.tests_met, run.tests)]
    how: doc.Cells = [doc.Untrusted(run.profile), doc.num(str(run.seed)), doc.Name(run.version)]
    return [*name, *met, *how, doc.TableCell(doc.Name(run.cpu), kind="text"), _digest(run)]


def _met(met: int, total: int) -> doc.TableCell:
    tone: doc.Tone = "quiet" if not total else "good" if met == total else "bad"
    return doc.num(share_of(met, total), tone)


def _digest(run: Run) -> doc.TableCell:
    return doc.TableCell(doc.Code(run.digest[:12]))


def _samplers(report: HistoryReport) -> Iterator[doc.Block]:
    caption = "Share of cases that are identical to the reference, by backend."
    yield doc.Heading(2, "Samplers", "samplers")
    yield _chart(report, "Chart of identical cases", caption, "share identical")
    rows: doc.Rows = [
        [doc.Name(row.sampler), doc.Name(row.backend), *map(_counted, row.runs[-RECENT:])]
        for row in report.samplers
    ]
    caption = "Cases by backend and sampler. A case counts for every sampler in its chain."
    table = doc.Table(caption, _head(report, "Sampler"), rows, style="sticky")
    none = doc.Paragraph("No case in these runs.")
    yield folded(len(rows), "row", 30, [table]) if rows else none


def _figures(report: HistoryReport) -> Iterator[doc.Block]:
    caption = "Ratio to the baseline of the same run, of the figures that changed most in the last."
    yield doc.Heading(2, "Figures", "figures")
    yield _chart(report, "Chart of ratios", caption, "ratio to the baseline")
    rows: doc.Rows = [
        [doc.Name(row.id), doc.Name(row.backend), *map(_measured, row.runs[-RECENT:])]
        for row in report.figures
    ]
    caption = (
        "Medians, and their ratio to the baseline of the same run (its first backend, mostly "
        "llama.cpp) with its 95% interval."
    )
    table = doc.Table(caption, _head(report, "Figure"), rows, style="sticky")
    none = doc.Paragraph("Nothing was measured in these runs.")
    yield folded(len(rows), "figure", 30, [table]) if rows else none


def _head(report: HistoryReport, first: str) -> Sequence[doc.Inline]:
    """Return the heads of a table whose last columns are the last runs."""
    days = [
        doc.Lines([doc.Untrusted(run.started[:10]), doc.Toned(doc.Name(run.name), "quiet")])
        for run in report.runs[-RECENT:]
    ]
    return [first, "Backend", *days]


def _counted(counted: Counted | None) -> doc.TableCell:
    if counted is None:
        return doc.TableCell("none", "quiet")
    text = f"{counted.identical:,}/{counted.cases:,} identical"
    if failed := counted.cases - counted.met:
        return doc.TableCell(f"{text}, {failed:,} failed", "bad")
    return doc.TableCell(text, "good" if counted.identical == counted.cases else "fair")


def _measured(measured: MeasuredFigure | None) -> doc.TableCell:
    """Return the cell of a measurement with its ratio to the baseline of the same run."""
    if measured is None:
        return doc.num("none")
    text = f"{figure(measured.value)} {measured.unit}"
    text = duration(measured.value) if measured.unit == "ns" else text
    if measured.ratio is not None:
        text += f", {factor(measured.ratio, measured.low, measured.high)}"
    return doc.num(text)


def _chart(report: HistoryReport, label: str, caption: str, what: str) -> doc.Picture:
    curves = identical_lines(report) if what == "share identical" else ratio_lines(report)
    draw = partial(_trend, [run.started[:10] for run in report.runs], curves, what)
    return doc.Picture(label, f"{caption} The table has the figures.", draw)


def _trend(days: list[str], curves: list[PlotLine], what: str, salt: str) -> str:
    return panels([Panel("", curves, y=what, log="", ticks=days)], "", salt)


def summary(report: HistoryReport) -> PageSummary:
    """Return a line for each run, as `sampler-parity history show` prints them."""
    lines = []
    for run in report.runs:
        cases = f"{run.met:,}/{run.cases:,} cases as required" if run.cases else "no case"
        name, cpu = one_line(run.name, 40), one_line(run.cpu, 60)
        lines.append(f"history  {run.started}   {name}   {cases}   {cpu}")
    total = f"history  {len(report.runs):,} runs, {len(report.figures):,} figures"
    return PageSummary(None, [], lines=[*lines, total])


HISTORY = Page[Path, HistoryReport](
    stem="history",
    title="History",
    answers="How did verdicts and figures change from run to run?",
    model=HistoryReport,
    build=report_of,
    document=document,
    summary=summary,
)
