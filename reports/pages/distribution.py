"""Do the draws of every backend follow the exact distribution of its chain?

The page has what is not as required, then every test.
reports/schemas/distribution.schema.json is made of DistributionReport.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import (
    CellKind,
    CellOnBackend,
    Decision,
    DistributionResult,
)
from sampler_parity.harness.failures.differing import LACKS, words
from sampler_parity.harness.sanitize.printable import escaped, one_line, visible
from sampler_parity.harness.statistics.plan import PARTS
from sampler_parity.harness.strict import Strict
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import JunitTest, Outcome
from sampler_parity.reports.labels import duration, interval, short, state_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary, anchor
from sampler_parity.reports.parts import bundle_heading, folded, machine_fold, machine_line, state
from sampler_parity.reports.pictures.picture import BAD, DOT, ForestLine, forest

ROWS = 30  # of a picture: what fails stands first
CARDS = 8  # failures shown in full; the others are folded
MARKDOWN = 60  # rows in Markdown
PRINTED = 5


class CellRow(Strict):
    """A cell on one backend. decision and holm: after Holm's correction over the run.

    bins: 0 where all tokens are bounded. smallest_caught: what the planned draws catch of the
    bounded quantity, all but surely; estimate, low, high: of that quantity.
    """

    cell: str
    suite: str
    what: CellKind
    backend: str
    decision: Decision
    required: list[Decision]
    met: bool
    n_vocab: int
    bins: int
    margin: float | None
    smallest_caught: float | None
    draws: int
    planned: int
    estimate: float | None
    low: float | None
    high: float | None
    p_value: float
    holm: float
    tests: dict[str, float]
    detail: str
    wall_s: float
    replay: str


class DistributionSection(Strict):
    """One bundle. budget: the error of all that the cells state together; pairs: (cell, backend),
    its parts. skipped: those that the backend does not claim, which are no part; lacks: what each
    backend lacks for them. rows: the worst first."""

    bundle: str
    ok: bool
    run: RunInfo
    wall_s: float
    budget: float
    pairs: int
    met: int
    skipped: int
    lacks: dict[str, str] = {}
    rows: list[CellRow]


class DistributionReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["distribution"] = "distribution"
    ok: bool
    sections: list[DistributionSection]


def report_of(bundles: list[Bundle]) -> DistributionReport | None:
    """Return a section for every bundle that has a distribution test; None where none has."""
    sections = [_section(bundle) for bundle in bundles if bundle.of(DistributionResult)]
    if not sections:
        return None
    return DistributionReport(ok=all(part.ok for part in sections), sections=sections)


def _section(bundle: Bundle) -> DistributionSection:
    info = escaped(bundle.info)
    cells = [*map(escaped, bundle.of(DistributionResult))]
    decided = decisions(cells)
    rows = [
        _judged(info, cell, name, result, *decided[cell.id, name])
        for cell in cells
        for name, result in cell.backends.items()
    ]
    skipped: dict[str, list[BackendResult]] = defaultdict(list)
    for row in rows:
        if row.decision == "skipped":
            skipped[row.backend].append(BackendResult(verdict="skipped", detail=row.detail))
    rows = [row for row in rows if row.decision != "skipped"]
    met = sum(row.met for row in rows)
    return DistributionSection(
        bundle=visible(bundle.folder.resolve().name),
        ok=met == len(rows) and bool(rows or bundle.cases),  # where all were skipped, nothing is
        run=info,
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        budget=PARTS * max((cell.alpha for cell in cells), default=0.0) * len(rows),
        pairs=len(rows),
        met=met,
        skipped=sum(map(len, skipped.values())),
        lacks={name: words(LACKS, "", results) for name, results in skipped.items()},
        rows=sorted(rows, key=_worst_first),
    )


def _worst_first(row: CellRow) -> tuple[bool, bool, bool, float]:
    """Put coupled cells last: an engine with random numbers of its own is different in each."""
    return row.met, row.decision == "equivalent", row.what == "coupled", row.holm


def _judged(
    info: RunInfo,
    cell: DistributionResult,
    name: str,
    result: CellOnBackend,
    decision: str,
    holm: float,
) -> CellRow:
    shared = ("margin", "smallest_caught", "planned", "n_vocab", "bins", "what", "suite")
    fields = ("draws", "estimate", "low", "high", "p_value", "tests", "detail", "wall_s")
    return CellRow.model_validate(
        {
            "cell": cell.id,
            "backend": name,
            "decision": decision,
            "required": cell.required[name],
            "met": decision in cell.required[name],
            "holm": holm,
            "replay": replay(info, cell.suite, cell.id, [name]),
            **{key: getattr(cell, key) for key in shared},
            **{key: getattr(result, key) for key in fields},
        }
    )


def margins(rows: list[CellRow], salt: str) -> str:
    """Return an <svg> element, or "" where nothing is bounded. salt keeps its ids apart."""
    several = len({row.backend for row in rows}) > 1
    lines = [
        ForestLine(
            f"{row.cell} {row.backend}" if several else row.cell,
            row.low / row.margin,
            None if row.estimate is None else row.estimate / row.margin,
            row.high / row.margin,
            DOT if row.met else BAD,
        )
        for row in rows
        if row.margin and row.low is not None and row.high is not None
    ]
    return forest(lines[:ROWS], "share of the margin", salt, log=False)


def document(report: DistributionReport) -> doc.Document:
    """Return the page of a report."""
    title = f"Distribution report: {state_of(report.ok)}"
    intro = (
        "Draws compared with the exact distribution: how far off it they may be, with an interval, "
        "and whether that is within the margin."
    )
    blocks = [_region(report, i) for i in range(len(report.sections))]
    return doc.Document(title, "Distribution report", [doc.Paragraph(intro)], blocks)


def _region(report: DistributionReport, i: int) -> doc.Region:
    section, b = report.sections[i], f"b{i + 1}"
    met = f"{section.met:,}/{section.pairs:,}"
    budget = (
        f"The chance that anything stated here is wrong is at most {section.budget:.0e} for the "
        f"whole run, split evenly over {section.pairs} tests, and for each over its alarm and the "
        "two ends of its interval. Frequencies bound the distance over the bins named; coupled "
        "draws bound it over all tokens."
    )
    above = [state(section.ok, f"{met} distribution tests as required."), doc.Paragraph(budget)]
    chart = doc.Picture(
        "Chart of the estimates",
        "Estimate and interval of each test, as a share of its margin; upright line: the margin. "
        "An interval wholly left of it is equivalent. The table below has the figures.",
        partial(margins, section.rows),
    )
    failed = [row for row in section.rows[:MARKDOWN] if not row.met]
    replays = [
        (doc.Name(r.cell), " on ", doc.Name(r.backend), ": ", doc.Code(r.replay)) for r in failed
    ]
    blocks: list[doc.Block] = [
        bundle_heading(section.bundle, b, f": {met} as required"),
        doc.InHtml([*above, *_cards(report, i), chart]),
        doc.InMarkdown([doc.Paragraph(f"Error budget of the run: {section.budget:.0e}.")]),
        folded(len(section.rows), "test", 40, [_table(section)]),
        *([doc.InMarkdown([doc.Items(replays)])] if replays else []),
        doc.InHtml(
            [
                doc.Heading(3, "Machine and versions", f"{b}-machine"),
                *(machine_line(section.run), machine_fold(section.run)),
            ]
        ),
    ]
    return doc.Region(b, blocks)


def _cards(report: DistributionReport, i: int) -> Iterator[doc.Block]:
    cards = [
        doc.Card(
            f"{row.decision}: {row.cell} on {row.backend}",
            anchor(row.cell, row.backend, of=i, among=len(report.sections)),
            [doc.Paragraph(row.detail), doc.Paragraph(_required(row)), doc.Pre(row.replay)],
            level=3,
        )
        for row in report.sections[i].rows
        if not row.met
    ]
    yield from cards[:CARDS]
    if len(cards) > CARDS:
        yield doc.Fold(f"{len(cards) - CARDS} more", cards[CARDS:])


def _required(row: CellRow) -> str:
    tests = ", ".join(f"{name} {short(p)}" for name, p in row.tests.items())
    return f"Required: {' or '.join(row.required)}. Tests: {tests}."


def _table(section: DistributionSection) -> doc.Table:
    return doc.Table(
        "Distribution tests, the worst first. Interval: of the total variation (frequency), the "
        "rate of disagreements (coupled), the share of the tail (tail), the excess of repeats "
        "(independence).",
        "Cell | Kind | Backend | Decision | Estimate [interval] | Margin | Smallest caught | Draws"
        " | p (Holm) | Time",
        [_cells(row) for row in section.rows],
        style="stacked",
        markdown="cell | backend | decision | margin | estimate [interval] | draws | p (Holm)",
        most=MARKDOWN,
    )


def _cells(row: CellRow) -> list[doc.TableCell]:
    same: doc.Tone = "good" if row.decision == "equivalent" else "fair"
    return [
        doc.TableCell(doc.Name(row.cell)),
        doc.TableCell(f"{row.what}, {over(row)}"),
        doc.TableCell(doc.Name(row.backend), kind="text"),
        doc.judged(row.decision, same if row.met else "bad"),
        doc.TableCell(interval(row.estimate, row.low, row.high)),
        doc.num(short(row.margin)),
        doc.num(short(row.smallest_caught)),
        doc.num(f"{row.draws:,}"),
        doc.num(short(row.holm)),
        doc.num(duration(row.wall_s * 1e9)),
    ]


def over(row: CellRow) -> str:
    """Return what a test compares."""
    return f"{row.bins:,} bins" if row.bins else f"all {row.n_vocab:,} tokens"


def summary(report: DistributionReport) -> PageSummary:
    """Return what failed, a line for each backend, and what the tests would have caught."""
    parts = report.sections
    met, pairs = sum(part.met for part in parts), sum(part.pairs for part in parts)
    skipped = sum(part.skipped for part in parts)
    as_required = f"{met:,}/{pairs:,} distribution tests"
    more = f"   {skipped:,} skipped" if skipped else ""
    wall_s = sum(part.wall_s for part in parts)
    return PageSummary(
        report.ok,
        [f"{as_required} as required"],
        lines=[line for part in parts for line in _lines(part)],
        last=f"draws    {as_required}{more}   {wall_s:,.1f} s   {state_of(report.ok)}",
        findings=[
            PageFinding(
                text=f"{row.cell} is {row.decision}, on {row.backend}",
                anchor=anchor(row.cell, row.backend, of=i, among=len(parts)),
            )
            for i, part in enumerate(parts)
            for row in part.rows
            if not row.met
        ],
    )


def _lines(part: DistributionSection) -> Iterator[str]:
    enough = part.budget / PARTS * (1 + part.skipped / max(1, part.pairs))
    for row in [row for row in part.rows if not row.met][:PRINTED]:
        by_p = row.decision != "different" or row.holm <= enough
        yield (
            f"{row.decision.upper()} {one_line(row.cell)}   {one_line(row.backend)}:"
            f" {interval(row.estimate, row.low, row.high)}, margin {short(row.margin) or 'none'},"
            f" {f'p = {short(row.holm)}' if by_p else 'decided by the interval'},"
            f" {row.draws:,} draws"
        )
        if row.detail:
            yield f"  {one_line(row.detail)}"
        yield f"  replay: {row.replay}"
    for name in sorted({row.backend for row in part.rows}):
        rows = [row for row in part.rows if row.backend == name]
        yield "   ".join(["draws   ", one_line(name, 80), *_counts(rows)])
    for name, lacks in part.lacks.items():
        yield f"skipped  {one_line(name, 80)}: {lacks}"
    if part.rows:
        yield f"budget   {part.budget:.0e} for all that the run states, over {part.pairs} tests"
    for cell, row in sorted({row.cell: row for row in part.rows}.items()):
        if row.smallest_caught is not None and row.what in ("frequency", "coupled"):
            yield f"  {cell}: {short(row.smallest_caught)} over {over(row)}"


def _counts(rows: list[CellRow]) -> list[str]:
    counted = Counter(row.decision for row in rows)
    counts = [f"{counted.pop('equivalent', 0)}/{len(rows)} equivalent"]
    counts += [f"{n} {decision}" for decision, n in counted.items()]
    return [*counts, f"{sum(row.draws for row in rows):,} draws"]


def junit_tests(report: DistributionReport) -> Iterator[JunitTest]:
    """Yield a test for every cell on a backend."""
    for section in report.sections:
        for row in section.rows:
            name = f"{row.suite} on {row.backend}"
            suite, started = f"{section.bundle}: {name}", section.run.started
            test = JunitTest(suite, started, row.cell, name, row.wall_s)
            message = f"{row.decision}, required {' or '.join(row.required)}; {row.detail}"
            if not row.met:
                outcome: Outcome = "error" if row.decision in ("crashed", "timeout") else "failure"
                yield test.ended(outcome, row.decision, message, f"replay: {row.replay}")
            elif row.decision == "unsupported":
                yield test.ended("skipped", "unsupported", message)
            else:
                yield test


DISTRIBUTION = Page[list[Bundle], DistributionReport](
    stem="distribution",
    title="Distribution",
    answers="Do the draws of every backend follow the exact distribution of its chain?",
    model=DistributionReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
)
