"""The comparison: how do bundles differ, and what may explain it? It judges nothing."""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.compare import labels
from sampler_parity.reports.pages.compare.build import report_of
from sampler_parity.reports.pages.compare.document import document
from sampler_parity.reports.pages.compare.model import CompareReport
from sampler_parity.reports.summary import PageSummary

NAMED = 5  # of a kind


def summary(report: CompareReport) -> PageSummary:
    """Return a line for each column, the first differences, and what may explain them."""
    lines = [*_columns(report), *_verdicts(report), *_logits(report), *_speeds(report)]
    if differing := [fact.name for fact in report.facts if fact.differs]:
        lines.append(f"facts    differ in {', '.join(differing)}")
    return PageSummary(
        None, [labels.headline(report)], [*lines, f"compare  {labels.headline(report)}"]
    )


def _columns(report: CompareReport) -> Iterator[str]:
    for i, column in enumerate(report.columns):
        differ = f"{column.differing:,}/{column.common:,} verdicts differ"
        parts = [f"compare  {one_line(labels.name(report, i), 80)}"]
        parts.append("the first of its kind" if column.base is None else differ)
        if absent := labels.not_common(column):
            parts.append(f"not compared: {absent}")
        yield "   ".join(parts)
    for gone in report.unavailable:
        what = one_line(f"{gone.backend} of {gone.bundle}", 80)
        yield f"compare  {what}   did not run: {one_line(gone.why)}"


def _verdicts(report: CompareReport) -> Iterator[str]:
    for row in report.verdicts[:NAMED]:
        verdicts = ", ".join(
            f"{one_line(labels.name(report, i), 60)} {labels.cell(row, i)}"
            for i in range(len(report.columns))
        )
        yield f"  {len(row.cases):,} cases as {one_line(row.cases[0])}: {one_line(verdicts)}"
        yield f"    replay: {labels.command(report, row)}"
    if len(report.verdicts) > NAMED:
        yield f"  ... and {len(report.verdicts) - NAMED:,} more kinds of difference"


def _logits(report: CompareReport) -> Iterator[str]:
    for row in report.logits:
        parts = [f"logits   {one_line(labels.name(report, row.column), 80)}"]
        parts.append(f"{row.equal:,}/{row.prompts:,} prompts equal to the bit")
        if row.difference is not None:
            parts.append(f"kept rows differ by up to {row.difference:.3g}")
        if row.texts:
            parts.append(f"{row.texts_equal:,}/{row.texts:,} texts equal")
        yield "   ".join(parts)


def _speeds(report: CompareReport) -> Iterator[str]:
    columns = range(len(report.columns))
    surely = [(row, i) for row in report.speeds for i in columns if labels.ratio_tone(row, i)]
    for row, i in surely[:NAMED]:
        where = one_line(labels.name(report, i), 60)
        yield f"speed    {one_line(row.id)}   {where}   {labels.ratio(row.ratios[i])}"
    if report.speeds:
        pairs = sum(ratio is not None for row in report.speeds for ratio in row.ratios)
        yield f"speed    {len(surely):,}/{pairs:,} figures surely differ from the base's"


COMPARE = Page[list[Bundle], CompareReport](
    stem="compare",
    title="Comparison",
    answers="How do bundles differ, and which facts of their machines may explain it?",
    model=CompareReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
