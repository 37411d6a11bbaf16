"""How do bundles differ, and which facts of their machines may explain it? It judges nothing."""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.comparison.records import Cell, Speed, Verdicts
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import figure, interval
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.pages.compare import compare_model as compare

MOST_ROWS = 100  # rows of a table
PARTS = {
    "columns": "Configurations",
    "verdicts": "Verdicts",
    "logits": "Logits and texts",
    "distributions": "Distributions",
    "speed": "Speed",
    "facts": "Facts",
}
PRINTED = 5  # of a kind


def document(report: compare.CompareReport) -> doc.Document:
    """Return the page of a comparison."""
    intro = "One column a backend of a bundle, next to the first column of the same implementation."
    links = doc.Links("Parts", [(title, f"#{anchor}") for anchor, title in PARTS.items()])
    blocks = [
        doc.Paragraph(compare.headline(report), compare.state_tone(report), "state"),
        doc.Heading(2, "Configurations", "columns"),
        _columns(report),
        *_unavailable(report),
        *_part(report, "verdicts", "Verdicts that differ", _verdicts(report), "None."),
        *_part(
            *(report, "logits", "Logits and texts", _logits(report)),
            "No prompt and no text is common to two columns.",
        ),
        *_part(
            *(report, "distributions", "Distributions", _cells(report)),
            "No distribution test is common to two columns.",
        ),
        *_part(
            *(report, "speed", "Speed", _speeds(report)),
            "Nothing that was timed is common to two columns.",
        ),
        *_facts(report),
    ]
    title = f"Comparison: {'ok' if report.ok else 'DIFFERENT'}"
    return doc.Document(title, "Comparison of bundles", [doc.Paragraph(intro), links], blocks)


def _part(
    report: compare.CompareReport, anchor: str, title: str, table: doc.Table, none: str
) -> Sequence[doc.Block]:
    """Return a part of the page; in Markdown nothing where nothing differs."""
    if table.rows:
        return [doc.Heading(2, title, anchor), table]
    return [doc.InHtml([doc.Heading(2, title, anchor), doc.Paragraph(none)])]


def _heading(report: compare.CompareReport, i: int) -> doc.Inline:
    column = report.columns[i]
    return (doc.Name(column.backend), " of ", doc.Toned(doc.Name(column.bundle), "quiet"))


def _headings(report: compare.CompareReport) -> list[doc.Inline]:
    return [_heading(report, i) for i in range(len(report.columns))]


def _columns(report: compare.CompareReport) -> doc.Table:
    rows: doc.Rows = []
    for i, c in enumerate(report.columns):
        alone = [doc.num(f"{n:,}") for n in (c.missing, c.added, c.changed)]
        differing = doc.num(compare.differing_text(report, i), compare.column_tone(report, i))
        first = [doc.TableCell("the first of its kind", "quiet", span=5)]
        compared = [] if c.base is None else [_heading(report, c.base), differing, *alone]
        machine = doc.TableCell(doc.Name(compare.machine_of(report, i)), kind="wide")
        rows.append([_heading(report, i), *(compared or first), machine])
    head = "Configuration | Compared with | Differing | Of the base alone | Of this one alone"
    return doc.Table(
        "Differing: verdicts other than in the column that it is compared with, of the cases and "
        "distribution tests that both have.",
        f"{head} | Of another suite file | Processor and device",
        rows,
        style="sticky",
    )


def _unavailable(report: compare.CompareReport) -> Iterator[doc.Block]:
    for gone in report.unavailable:
        name = (doc.Name(gone.backend), " of ", doc.Name(gone.bundle))
        yield doc.Paragraph((*name, " did not run: ", doc.Name(gone.why)))


def _verdicts(report: compare.CompareReport) -> doc.Table:
    return doc.Table(
        "Cases with the same verdicts in every column, and the first stage that differs from the "
        "reference. The rows with most cases first.",
        ["Cases", "Suite", *_headings(report), "Replay the first"],
        [_verdict(report, row) for row in report.verdicts],
        style="sticky",
        most_html=MOST_ROWS,
    )


def _verdict(report: compare.CompareReport, row: Verdicts) -> doc.Cells:
    more = [f"and {len(row.cases) - 1:,} more"] if len(row.cases) > 1 else []
    cells = [
        doc.TableCell(
            doc.Name(compare.verdict_text(row, i)), compare.change_tone(row, i, column.base)
        )
        for i, column in enumerate(report.columns)
    ]
    replay = doc.Code(compare.command(report, row))
    return [
        doc.Lines([doc.Name(row.cases[0]), *more]),
        doc.Name(row.suite or "(none)"),
        *cells,
        replay,
    ]


def _logits(report: compare.CompareReport) -> doc.Table:
    rows: doc.Rows = []
    for row in report.logits:
        counts = [f"{row.equal:,}/{row.prompts:,}", f"{row.kept:,}"]
        figures = [figure(row.difference), figure(row.kl_max)]
        same = [f"{row.top1:,}/{row.kept:,}", f"{row.texts_equal:,}/{row.texts:,}"]
        rows.append([_heading(report, row.column), *map(doc.num, [*counts, *figures, *same])])
    head = "Configuration | Equal prompts | Rows kept | Largest difference | KL, largest"
    return doc.Table(
        "Compared with the column of the same implementation. Equal: by digest of all logits of a "
        "prompt. The other figures are of the rows that both bundles keep.",
        f"{head} | Same top-1 | Equal texts",
        rows,
        style="sticky",
    )


def _cells(report: compare.CompareReport) -> doc.Table:
    return doc.Table(
        "Decision and estimate of every distribution test that two columns have, with its "
        "interval. Tests whose intervals do not overlap first.",
        ["Test", "Intervals", *_headings(report)],
        [_cell(report, row) for row in report.cells],
        style="sticky",
        most_html=MOST_ROWS,
    )


def _cell(report: compare.CompareReport, row: Cell) -> doc.Cells:
    decided = [
        doc.Lines([decision or "not in it", *([interval(i.estimate, i.low, i.high)] if i else [])])
        for decision, i in zip(row.decisions, row.intervals, strict=True)
    ]
    cell = doc.TableCell("apart" if row.apart else "overlap", compare.apart_tone(report, row))
    return [doc.Name(row.id), cell, *decided]


def _speeds(report: compare.CompareReport) -> doc.Table:
    columns = range(len(report.columns))
    rows: doc.Rows = [
        [doc.Name(row.id), *(_speed(row, i) for i in columns)] for row in report.speeds
    ]
    return doc.Table(
        "Median, and its ratio to the column that it is compared with, with a bootstrap 95% "
        "interval. Coloured where the interval leaves out 1. The largest change first. Runs of "
        "different times and machines: a ratio shows a difference, not its cause.",
        ["Figure", *_headings(report)],
        rows,
        style="sticky",
        most_html=MOST_ROWS,
    )


def _speed(row: Speed, i: int) -> doc.TableCell:
    ratio = compare.ratio_text(row.ratios[i])
    texts = [compare.figure_text(row, i), *([ratio] if ratio else [])]
    return doc.num(doc.Lines(texts), compare.ratio_tone(row, i))


def _facts(report: compare.CompareReport) -> Iterator[doc.Block]:
    """Yield all facts, those that differ first; in Markdown only these."""
    caption = (
        "Differing ones first. Processor features: more (+) and less (-) than in the first column."
    )
    rows: doc.Rows = [
        [
            doc.Lines([fact.name, doc.Toned("differs", "fair")] if fact.differs else [fact.name]),
            *(doc.TableCell(doc.Name(value or "unknown"), kind="text") for value in fact.values),
        ]
        for fact in sorted(report.facts, key=lambda fact: not fact.differs)
    ]
    differing = [
        [doc.Name(fact.name), *map(doc.Name, fact.values)] for fact in report.facts if fact.differs
    ]
    head = ["Fact", *_headings(report)]
    heading = doc.Heading(2, "Facts that may explain a difference", "facts")
    yield doc.InHtml([heading, doc.Table(caption, head, rows, style="sticky")])
    if differing:
        brief = [doc.Heading(2, "Facts that differ"), doc.Table("", head, differing)]
        yield doc.InMarkdown(brief)


def summary(report: compare.CompareReport) -> PageSummary:
    """Return a line for each column, the first differences, and what may explain them."""
    lines = [
        *_column_lines(report),
        *_verdict_lines(report),
        *_logit_lines(report),
        *_speed_lines(report),
    ]
    if differing := [fact.name for fact in report.facts if fact.differs]:
        lines.append(f"facts    differ in {', '.join(differing)}")
    return PageSummary(
        None, [compare.headline(report)], [*lines, f"compare  {compare.headline(report)}"]
    )


def _column_lines(report: compare.CompareReport) -> Iterator[str]:
    for i, column in enumerate(report.columns):
        differ = f"{column.differing:,}/{column.common:,} verdicts differ"
        parts = [f"compare  {one_line(compare.column_name(report, i), 80)}"]
        parts.append("the first of its kind" if column.base is None else differ)
        if missing := compare.not_common(column):
            parts.append(f"not compared: {missing}")
        yield "   ".join(parts)
    for gone in report.unavailable:
        what = one_line(f"{gone.backend} of {gone.bundle}", 80)
        yield f"compare  {what}   did not run: {one_line(gone.why)}"


def _verdict_lines(report: compare.CompareReport) -> Iterator[str]:
    for row in report.verdicts[:PRINTED]:
        verdicts = ", ".join(
            f"{one_line(compare.column_name(report, i), 60)} {compare.verdict_text(row, i)}"
            for i in range(len(report.columns))
        )
        yield f"  {len(row.cases):,} cases as {one_line(row.cases[0])}: {one_line(verdicts)}"
        yield f"    replay: {compare.command(report, row)}"
    if len(report.verdicts) > PRINTED:
        yield f"  ... and {len(report.verdicts) - PRINTED:,} more kinds of difference"


def _logit_lines(report: compare.CompareReport) -> Iterator[str]:
    for row in report.logits:
        parts = [f"logits   {one_line(compare.column_name(report, row.column), 80)}"]
        parts.append(f"{row.equal:,}/{row.prompts:,} prompts equal to the bit")
        if row.difference is not None:
            parts.append(f"kept rows differ by up to {row.difference:.3g}")
        if row.texts:
            parts.append(f"{row.texts_equal:,}/{row.texts:,} texts equal")
        yield "   ".join(parts)


def _speed_lines(report: compare.CompareReport) -> Iterator[str]:
    columns = range(len(report.columns))
    surely = [(row, i) for row in report.speeds for i in columns if compare.ratio_tone(row, i)]
    for row, i in surely[:PRINTED]:
        where = one_line(compare.column_name(report, i), 60)
        yield f"speed    {one_line(row.id)}   {where}   {compare.ratio_text(row.ratios[i])}"
    if report.speeds:
        pairs = sum(ratio is not None for row in report.speeds for ratio in row.ratios)
        yield f"speed    {len(surely):,}/{pairs:,} figures surely differ from the base's"


COMPARE = Page[list[Bundle], compare.CompareReport](
    stem="compare",
    title="Comparison",
    answers="How do bundles differ, and which facts of their machines may explain it?",
    model=compare.CompareReport,
    build=compare.report_of,
    document=document,
    summary=summary,
    missed=False,
)
