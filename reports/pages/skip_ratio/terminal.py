"""What a run of skip ratios prints at its end."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.pages.skip_ratio.labels import (
    leaves_of,
    model_words,
    percent,
    with_interval,
)
from sampler_parity.reports.pages.skip_ratio.model import Row, SkipRatioReport

SHOWN = 12  # failures, and measurements


def terminal_lines(report: SkipRatioReport) -> list[str]:
    """Failures, a line for each measurement, and how good the model is."""
    failed = [row for row in report.rows if not row.ok]
    lines = []
    for row in failed[:SHOWN]:
        lines += [f"FAILED {one_line(row.workload)} on {one_line(row.backend)}"]
        lines += [*(f"  {one_line(why)}" for why in row.failed), f"  replay: {row.replay}"]
    measured = [row for row in report.rows if row.measured is not None]
    lines += [_line(row) for row in measured[:SHOWN]]
    if len(measured) > SHOWN:
        lines.append(f"  ... and {len(measured) - SHOWN:,} more")
    met = len(report.rows) - len(failed)
    state = "ok" if report.ok else "FAILED"
    parts = [f"skip     {met:,}/{len(report.rows):,} as required", model_words(report), state]
    return [*lines, "   ".join(parts)]


def _line(row: Row) -> str:
    measured = row.measured
    assert measured is not None
    speed = with_interval(
        measured.tokens_per_second_vs_grammar, measured.tokens_per_second_vs_grammar_ci95
    )
    return (
        f"skip     {leaves_of(row)} {one_line(row.model)} V={measured.n_vocab:,}"
        f"   skip ratio {percent(measured.skip_ratio_mean)}"
        f"   {measured.forward_passes_saved:,}/{measured.forward_passes_total:,} passes saved"
        f"   {speed} x grammar first"
    )
