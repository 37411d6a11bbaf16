"""The distribution page: what is not as required, then every test."""

from collections.abc import Iterator
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, interval, short, state_of
from sampler_parity.reports.pages.distribution.chart import margins
from sampler_parity.reports.pages.distribution.model import (
    CellRow,
    DistributionReport,
    DistributionSection,
)
from sampler_parity.reports.parts import bundle_heading, folded, machine_fold, machine_line, state
from sampler_parity.reports.summary import anchor

CARDS = 8  # failures shown in full; the others are folded
SHOWN = 60  # rows in Markdown


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
    failed = [row for row in section.rows[:SHOWN] if not row.met]
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
        [_row(row) for row in section.rows],
        style="stacked",
        markdown="cell | backend | decision | margin | estimate [interval] | draws | p (Holm)",
        most=SHOWN,
    )


def _row(row: CellRow) -> list[doc.TableCell]:
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
