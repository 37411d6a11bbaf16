"""What `sampler-parity compare` prints."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.compare.labels import (
    cell,
    command,
    headline,
    name,
    not_common,
    ratio,
    ratio_class,
)
from sampler_parity.reports.pages.compare.model import Comparison

NAMED = 5  # of a kind


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
        verdicts = ", ".join(
            f"{one_line(name(report, i), 60)} {cell(row, i)}" for i in range(len(report.columns))
        )
        lines += [f"  {len(row.cases):,} cases as {one_line(row.cases[0])}: {one_line(verdicts)}"]
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
        pairs = sum(verdicts is not None for row in report.speeds for verdicts in row.ratios)
        lines.append(f"speed    {len(surely):,}/{pairs:,} figures surely differ from the base's")
    if differing := [fact.name for fact in report.facts if fact.differs]:
        lines.append(f"facts    differ in {', '.join(differing)}")
    lines.append(f"compare  {headline(report)}")
    return lines


def _logits_line(report: Comparison, column: int) -> str:
    beside = next(b for b in report.logits if b.column == column)
    parts = [f"logits   {one_line(name(report, column), 80)}"]
    parts.append(f"{beside.equal:,}/{beside.prompts:,} prompts equal to the bit")
    if beside.difference is not None:
        parts.append(f"kept rows differ by up to {beside.difference:.3g}")
    if beside.texts:
        parts.append(f"{beside.texts_equal:,}/{beside.texts:,} texts equal")
    return "   ".join(parts)
