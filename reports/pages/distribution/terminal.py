"""What a run of distribution tests prints at its end."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import short
from sampler_parity.reports.pages.distribution.labels import interval, over
from sampler_parity.reports.pages.distribution.model import CellRow, DistributionReport

SHOWN = 5


def terminal_lines(report: DistributionReport) -> list[str]:
    """What failed, a line for each backend, the budget and what the tests would have caught."""
    (part,) = report.sections
    lines = []
    for row in [row for row in part.rows if not row.met][:SHOWN]:
        lines += [
            f"{row.decision.upper()} {one_line(row.cell)}   {one_line(row.backend)}:"
            f" {interval(row)}, margin {short(row.margin) or 'none'}, p = {short(row.holm)},"
            f" {row.draws:,} draws",
            f"  {one_line(row.detail)}" if row.detail else "",
            f"  replay: {row.replay}",
        ]
    for name in dict.fromkeys(sorted(row.backend for row in part.rows)):
        rows = [row for row in part.rows if row.backend == name]
        lines.append("   ".join(["draws   ", one_line(name, 80), *_counts(rows)]))
    if part.rows:
        lines.append(
            f"budget   {part.budget:.0e} for all that the run states, over {part.pairs} tests"
        )
        lines += [f"  {line}" for line in _caught(part.rows)]
    return [line for line in lines if line]


def last_line(report: DistributionReport) -> str:
    (part,) = report.sections
    state = "ok" if part.ok else "FAILED"
    tests = f"{part.met:,}/{part.pairs:,} distribution tests"
    tests += f"   {part.skipped:,} skipped" if part.skipped else ""
    return f"draws    {tests}   {part.wall_s:,.1f} s   {state}"


def _counts(rows: list[CellRow]) -> list[str]:
    counted = [f"{sum(r.decision == 'equivalent' for r in rows)}/{len(rows)} equivalent"]
    others = dict.fromkeys(r.decision for r in rows if r.decision != "equivalent")
    counted += [f"{sum(r.decision == kind for r in rows)} {kind}" for kind in others]
    return [*counted, f"{sum(r.draws for r in rows):,} draws"]


def _caught(rows: list[CellRow]) -> list[str]:
    """The smallest distance that each cell would have caught."""
    by_cell = {row.cell: row for row in rows}
    return [
        f"{cell}: {short(row.smallest_caught)} over {over(row)}"
        for cell, row in sorted(by_cell.items())
        if row.smallest_caught is not None and row.what in ("frequency", "coupled")
    ]
